//! Kernels of elements and of rows, for all dtypes that are computed with.
//!
//! Numbers are computed with as they are, or in pieces of a wider type; truth values as such.

use super::map::{is_wide, through_wide};
use super::pieces::{PerRow, each_through_wide, each_to_bool, rows_through_wide};
use super::{BinaryOp, CompareOp, Operand, ReduceOp, Storage, elementwise, reduce, truth};
use crate::{DType, Result, Scalar};

// Moves of operands are much of what a small operation takes.
pub(super) fn binary(op: BinaryOp, a: Operand, b: Operand) -> Result<Storage> {
    match is_wide(&a) {
        true => elementwise::binary(op, &a, &b),
        false => each_through_wide([a, b], &|[a, b]| elementwise::binary(op, a, b)),
    }
}

pub(super) fn binary_scalar(op: BinaryOp, x: Operand, number: Scalar) -> Result<Storage> {
    match is_wide(&x) {
        true => elementwise::binary_scalar(op, &x, number),
        false => each_through_wide([x], &|[x]| elementwise::binary_scalar(op, x, number)),
    }
}

pub(super) fn add_scaled(a: Operand, b: Operand, alpha: Scalar) -> Result<Storage> {
    match is_wide(&a) {
        true => elementwise::add_scaled(a, b, alpha),
        false => each_through_wide([a, b], &|[a, b]| {
            elementwise::add_scaled(a.clone(), b.clone(), alpha)
        }),
    }
}

pub(super) fn compare(op: CompareOp, a: Operand, b: Operand) -> Result<Storage> {
    match a.storage.dtype() {
        DType::Bool => truth::compare(op, &a, &b),
        _ => each_to_bool([a, b], &|[a, b]| elementwise::compare(op, a, b)),
    }
}

pub(super) fn compare_scalar(op: CompareOp, x: Operand, number: Scalar) -> Result<Storage> {
    match x.storage.dtype() {
        DType::Bool => truth::compare_scalar(op, &x, number),
        _ => each_to_bool([x], &|[x]| elementwise::compare_scalar(op, x, number)),
    }
}

pub(super) fn reduce(op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
    along(x, dims, &|x, dims| reduce::reduce(op, x, dims))
}

pub(super) fn sum_squares(x: Operand, dims: &[usize]) -> Result<Storage> {
    along(x, dims, &|x, dims| reduce::sum_squares(x, dims))
}

/// A kernel that makes one element of those along the dimensions.
fn along(
    x: Operand,
    dims: &[usize],
    kernel: &(dyn Fn(Operand, &[usize]) -> Result<Storage> + Sync),
) -> Result<Storage> {
    match *dims {
        [dim] if !is_wide(&x) => rows_through_wide([x], dim, PerRow::Element, &|[x], dim| {
            kernel(x.clone(), &[dim])
        }),
        _ => through_wide([x], |[x]| kernel(x, dims)),
    }
}
