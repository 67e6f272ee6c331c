//! Recurrent layers, step after step: the product of the state with its weights, and the cell.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

mod cell;
mod gradient;
mod states;
mod weights;

pub(super) use gradient::recurrent_backward;

use super::aligned_vec::AlignedVec;
use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::memory::scratch;
use super::panels::Panels;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::view::{RowMajor, to_row_major, to_vec};
use super::{CpuStorage, RecurrentGeometry, RecurrentInputs, RecurrentOp, RecurrentStates, Saved};
use crate::Result;
use crate::zip::zip_mut;

const NAME: &str = "recurrent";

pub(super) fn recurrent(
    inputs: &RecurrentInputs,
    geometry: &RecurrentGeometry,
) -> Result<RecurrentStates> {
    run_float(inputs.gates.storage.dtype(), Recurrent { inputs, geometry })
}

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

/// A row of a matrix, which may have no columns.
#[inline(always)]
fn row<T>(x: &[T], i: usize, width: usize) -> &[T] {
    &x[i * width..][..width]
}

#[inline(always)]
fn row_mut<T>(x: &mut [T], i: usize, width: usize) -> &mut [T] {
    &mut x[i * width..][..width]
}

struct Recurrent<'a> {
    inputs: &'a RecurrentInputs,
    geometry: &'a RecurrentGeometry,
}

impl FloatKernel for Recurrent<'_> {
    type Output = RecurrentStates;

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<RecurrentStates> {
        let Self { inputs, geometry } = self;
        let sizes = RowSizes::of(inputs, geometry);
        let (rows, batch) = (geometry.rows(), geometry.batch());
        let input = to_row_major::<T>(&inputs.gates)?;
        let weight = Panels::from_transposed(
            &to_row_major::<T>(&inputs.weight)?,
            sizes.width,
            sizes.gates,
        )?;
        let bias: Option<RowMajor<'_, T>> = inputs.bias.as_ref().map(to_row_major).transpose()?;
        let projection = match &inputs.projection {
            Some(matrix) => Some(Panels::from_transposed(
                &to_row_major::<T>(matrix)?,
                sizes.hidden,
                sizes.width,
            )?),
            None => None,
        };
        let mut h = to_vec::<T>(&inputs.hidden)?;
        let mut c = match &inputs.cell {
            Some(cell) => to_vec::<T>(cell)?,
            None => AlignedVec::new(),
        };
        let mut states = scratch(rows * sizes.width)?;
        let mut cells = scratch(rows * sizes.cell)?;
        let mut kept = scratch(rows * sizes.kept)?;
        let mut sums = scratch(batch * sizes.gates)?;
        let mut inner = scratch(batch * sizes.inner)?;
        let steps = weight.steps() + projection.as_ref().map_or(0, Panels::steps);
        for step in geometry.steps() {
            let part = |width: usize| step.start * width..step.end * width;
            let first = |width: usize| ..step.len() * width;
            let input = &input[part(sizes.gates)];
            let items = (
                (
                    Items(&mut sums[first(sizes.gates)], sizes.gates),
                    Items(&mut inner[first(sizes.inner)], sizes.inner),
                ),
                (
                    (
                        Items(&mut h[first(sizes.width)], sizes.width),
                        Items(&mut c[first(sizes.cell)], sizes.cell),
                    ),
                    (
                        (
                            Items(&mut states[part(sizes.width)], sizes.width),
                            Items(&mut cells[part(sizes.cell)], sizes.cell),
                        ),
                        Items(&mut kept[part(sizes.kept)], sizes.kept),
                    ),
                ),
            );
            parallel_for(step.len(), steps, items, &|range, items| {
                let ((sums, inner), ((h, c), ((states, cells), kept))) = items;
                let step = Step {
                    sizes,
                    input: &input[range.start * sizes.gates..range.end * sizes.gates],
                    bias: bias.as_deref(),
                    weight: &weight,
                    projection: projection.as_ref(),
                    sums: sums.0,
                    inner: inner.0,
                    h: h.0,
                    c: c.0,
                    states: states.0,
                    cells: cells.0,
                    kept: kept.0,
                };
                step.run();
                Ok(())
            })?;
        }
        let hidden = CpuStorage::wrap(states);
        let cell = inputs.cell.is_some().then(|| CpuStorage::wrap(cells));
        let kept = CpuStorage::wrap(kept);
        // The states as they were computed, and without a state `c` only two storages.
        let saved = [Some(hidden.clone()), Some(kept), cell.clone()];
        Ok(RecurrentStates {
            hidden,
            cell,
            saved: Saved::new(saved.into_iter().flatten()),
        })
    }
}

/// One step of some sequences.
struct Step<'a, T: Float> {
    sizes: RowSizes,
    input: &'a [T],
    bias: Option<&'a [T]>,
    weight: &'a Panels<T>,
    projection: Option<&'a Panels<T>>,
    sums: &'a mut [T],
    inner: &'a mut [T],
    h: &'a mut [T],
    c: &'a mut [T],
    states: &'a mut [T],
    cells: &'a mut [T],
    kept: &'a mut [T],
}

impl<T: Float> Step<'_, T> {
    fn run(mut self) {
        let sizes = self.sizes;
        // Only a GRU needs the two sums apart.
        match sizes.op {
            RecurrentOp::Gru => self.sums.fill(T::zero()),
            _ => self.sums.copy_from_slice(self.input),
        }
        if let Some(bias) = self.bias {
            for sums in self.sums.chunks_exact_mut(sizes.gates.max(1)) {
                for (sum, &bias) in zip_mut(sums, bias) {
                    *sum = sum.plus(bias);
                }
            }
        }
        self.weight.add(self.h, self.sums);
        run_at_best_level(Cells(&mut self));
        if let Some(projection) = self.projection {
            self.h.fill(T::zero());
            projection.add(self.inner, self.h);
        }
        self.states.copy_from_slice(self.h);
        self.cells.copy_from_slice(self.c);
    }
}

/// The cells of a step, from their sums.
struct Cells<'s, 'a, T: Float>(&'s mut Step<'a, T>);

impl<T: Float> Loop for Cells<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let step = self.0;
        let sizes = step.sizes;
        let count = step.sums.len() / sizes.gates.max(1);
        for i in 0..count {
            let sums = row(step.sums, i, sizes.gates);
            let c = row_mut(step.c, i, sizes.cell);
            let kept = row_mut(step.kept, i, sizes.kept);
            let h = match step.projection {
                Some(_) => row_mut(step.inner, i, sizes.inner),
                None => row_mut(step.h, i, sizes.width),
            };
            match sizes.op {
                RecurrentOp::Tanh => cell::tanh(sums, h),
                RecurrentOp::Relu => cell::relu(sums, h),
                RecurrentOp::Lstm => cell::lstm(sums, c, h, kept),
                RecurrentOp::Gru => cell::gru(row(step.input, i, sizes.gates), sums, h, kept),
            }
        }
    }
}
