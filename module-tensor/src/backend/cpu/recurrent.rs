//! Recurrent layers, step after step: the product of the state with its weights, and the cell.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

mod cell;
mod forward;
mod gradient;
mod gradient_part;
mod part;
mod parts;
mod states;
mod weights;

pub(super) use forward::recurrent;
pub(super) use gradient::recurrent_backward;

use std::ops::Range;

use super::float::Float;
use super::view::{RowMajor, to_row_major};
use super::{
    CpuStorage, Operand, RecurrentGeometry, RecurrentInputs, RecurrentOp, RecurrentStates, Saved,
};
use crate::Result;

const NAME: &str = "recurrent";

/// The sizes of one row.
#[derive(Clone, Copy)]
struct RowSizes {
    op: RecurrentOp,
    /// All gates.
    gates: usize,
    /// One gate.
    hidden: usize,
    /// The state `h`.
    width: usize,
    /// The state `c`, if there is one.
    cell: usize,
    /// The values that the gradient needs besides the states.
    kept: usize,
    /// The state before the projection, if there is one.
    inner: usize,
}

impl RowSizes {
    fn of(inputs: &RecurrentInputs, geometry: &RecurrentGeometry) -> Self {
        let &RecurrentGeometry {
            op, hidden, width, ..
        } = geometry;
        Self {
            op,
            gates: op.gates() * hidden,
            hidden,
            width,
            cell: if inputs.cell.is_some() { hidden } else { 0 },
            kept: saved_width(op) * hidden,
            inner: if inputs.projection.is_some() {
                hidden
            } else {
                0
            },
        }
    }
}

/// The number of values that the gradient needs besides the states, for each element of the state: the gates
/// of an LSTM; `r`, `z`, `n` and the factor of `r` of a GRU.
fn saved_width(op: RecurrentOp) -> usize {
    match op {
        RecurrentOp::Tanh | RecurrentOp::Relu => 0,
        RecurrentOp::Lstm | RecurrentOp::Gru => 4,
    }
}

/// The elements of an operand that may be missing.
fn optional<T: Float>(operand: &Option<Operand>) -> Result<Option<RowMajor<'_, T>>> {
    operand.as_ref().map(to_row_major).transpose()
}

/// A row of a matrix, which may have no columns.
#[inline(always)]
fn row<T>(x: &[T], i: usize, width: usize) -> &[T] {
    &x[i * width..][..width]
}

#[inline(always)]
fn row_mut<T>(x: &mut [T], i: usize, width: usize) -> &mut [T] {
    &mut x[i * width..][..width]
}

/// Some elements of each gate of a row.
#[inline(always)]
fn gates_of<'a, T, const N: usize>(
    row: &'a [T],
    hidden: usize,
    units: &Range<usize>,
) -> [&'a [T]; N] {
    std::array::from_fn(|gate| &row[gate * hidden..][units.clone()])
}
