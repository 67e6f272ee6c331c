//! Comparisons and reductions, for all dtypes that are computed with: numbers and booleans.

use super::half_sums::sum_rows;
use super::map::{is_wide, through_wide};
use super::pieces::rows_through_wide;
use super::{CompareOp, Operand, ReduceOp, Storage, elementwise, reduce, truth};
use crate::{DType, Result, Scalar};

pub(super) fn compare(op: CompareOp, a: &Operand, b: &Operand) -> Result<Storage> {
    match a.storage.dtype() {
        DType::Bool => truth::compare(op, a, b),
        _ => elementwise::compare(op, a, b),
    }
}

pub(super) fn compare_scalar(op: CompareOp, x: &Operand, number: Scalar) -> Result<Storage> {
    match x.storage.dtype() {
        DType::Bool => truth::compare_scalar(op, x, number),
        _ => elementwise::compare_scalar(op, x, number),
    }
}

pub(super) fn reduce(op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
    if op == ReduceOp::Sum
        && let Some(sums) = sum_rows(&x, dims)?
    {
        return Ok(sums);
    }
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
        [dim] if !is_wide(&x) => rows_through_wide(x, dim, &|x, dim| kernel(x.clone(), &[dim])),
        _ => through_wide([x], |[x]| kernel(x, dims)),
    }
}
