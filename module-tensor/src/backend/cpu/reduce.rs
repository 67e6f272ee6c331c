//! Folds along dimensions.
//!
//! Every fold is one of two loops: over rows, where the reduced dimensions come last in memory, and
//! down columns, where they come first. Any other order is copied into rows.

use super::lanes::{sum, sum_of_squares};
use super::map::{NumberKernel, run_number, widened};
use super::number::Number;
use super::view::{slice, to_row_major};
use super::{ArgReduceOp, CpuStorage, Operand, ReduceOp, Storage, check_allocatable};
use crate::Result;
use crate::zip::zip_mut;

pub(super) fn reduce(op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
    run_number(x.storage.dtype(), Reduce(op, x, dims))
}

struct Reduce<'a>(ReduceOp, Operand, &'a [usize]);

impl NumberKernel for Reduce<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, x, dims) = self;
        let shape = x.layout.shape();
        let kept = shape.reduced(dims, true).numel();
        check_allocatable::<T>(kept)?;
        if shape.contains(&0) {
            let nothing = if op == ReduceOp::Prod {
                T::one()
            } else {
                T::zero()
            };
            return Ok(CpuStorage::wrap(vec![nothing; kept]));
        }
        let columns = is_leading(dims) && kept > 1 && op == ReduceOp::Sum;
        if let (true, Some(values)) = (columns, slice::<T>(&x)?) {
            return Ok(CpuStorage::wrap(sum_columns(values, kept, |v| v)));
        }
        let width = dims.iter().map(|&dim| shape[dim]).product();
        let x = reduced_last(&x, dims);
        let values = to_row_major::<T>(&x)?;
        let fold: fn(&[T]) -> T = match op {
            ReduceOp::Sum => sum,
            ReduceOp::Prod => |row| row.iter().fold(T::one(), |product, &v| product.times(v)),
            ReduceOp::Max => |row| extreme(row, T::greater),
            ReduceOp::Min => |row| extreme(row, T::smaller),
        };
        Ok(CpuStorage::wrap(
            values.chunks_exact(width).map(fold).collect::<Vec<_>>(),
        ))
    }
}

/// The sums of squares, in the order in which [`reduce`] sums.
pub(super) fn sum_squares(x: Operand, dims: &[usize]) -> Result<Storage> {
    run_number(x.storage.dtype(), SumSquares(x, dims))
}

struct SumSquares<'a>(Operand, &'a [usize]);

impl NumberKernel for SumSquares<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "norm"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(x, dims) = self;
        let shape = x.layout.shape();
        let width: usize = dims.iter().map(|&dim| shape[dim]).product();
        let kept = shape.reduced(dims, true).numel();
        check_allocatable::<T>(kept)?;
        if width == 0 {
            return Ok(CpuStorage::wrap(vec![T::zero(); kept]));
        }
        if let (true, true, Some(values)) = (is_leading(dims), kept > 1, slice::<T>(&x)?) {
            let sums = sum_columns(values, kept, |v| v.times(v));
            return Ok(CpuStorage::wrap(sums));
        }
        let x = reduced_last(&x, dims);
        let rows = to_row_major::<T>(&x)?;
        let sums = rows.chunks_exact(width).map(sum_of_squares);
        Ok(CpuStorage::wrap(sums.collect::<Vec<_>>()))
    }
}

/// The same elements with the reduced dimensions after the others.
fn reduced_last(x: &Operand, dims: &[usize]) -> Operand {
    let kept = (0..x.layout.rank()).filter(|dim| !dims.contains(dim));
    let order: Vec<usize> = kept.chain(dims.iter().copied()).collect();
    Operand {
        storage: x.storage.clone(),
        layout: x.layout.permute(&order),
    }
}

fn is_leading(dims: &[usize]) -> bool {
    dims.iter().enumerate().all(|(i, &dim)| i == dim)
}

/// The sums of columns of what `f` makes of the elements, row after row, so that memory is read in order.
fn sum_columns<T: Number>(values: &[T], width: usize, f: impl Fn(T) -> T) -> Vec<T> {
    const ROWS: usize = 64;
    let mut total = vec![T::zero(); width];
    let mut partial = vec![T::zero(); width];
    for rows in values.chunks(width * ROWS) {
        partial.fill(T::zero());
        for row in rows.chunks_exact(width) {
            for (sum, &v) in zip_mut(&mut partial, row) {
                *sum = sum.plus(f(v));
            }
        }
        for (sum, &v) in zip_mut(&mut total, &partial) {
            *sum = sum.plus(v);
        }
    }
    total
}

/// Folds from the first element on, so that no start value is needed; callers refuse empty rows.
fn extreme<T: Number>(row: &[T], better: impl Fn(T, T) -> T) -> T {
    let first = row.first().copied().unwrap_or_else(T::zero);
    row.iter().fold(
        first,
        |best, &v| if v.is_nan() { v } else { better(best, v) },
    )
}

pub(super) fn arg_reduce(op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage> {
    let x = widened(&x)?;
    run_number(x.storage.dtype(), ArgReduce(op, x, dim))
}

struct ArgReduce(ArgReduceOp, Operand, usize);

impl NumberKernel for ArgReduce {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, x, dim) = self;
        let is_better: fn(&T, &T) -> bool = match op {
            ArgReduceOp::Max => T::gt,
            ArgReduceOp::Min => T::lt,
        };
        let width = x.layout.shape()[dim];
        let x = reduced_last(&x, &[dim]);
        let values = to_row_major::<T>(&x)?;
        let indices = values
            .chunks_exact(width.max(1))
            .map(|row| index_of_extremum(row, is_better));
        Ok(CpuStorage::wrap(indices.collect::<Vec<_>>()))
    }
}

/// The index of the first element that is at least as extreme as all others, or of the first NaN.
fn index_of_extremum<T: Number>(row: &[T], is_better: fn(&T, &T) -> bool) -> i64 {
    let mut best: Option<(i64, T)> = None;
    for (i, &v) in (0_i64..).zip(row) {
        match best {
            Some((_, b)) if b.is_nan() || !(v.is_nan() || is_better(&v, &b)) => {}
            _ => best = Some((i, v)),
        }
    }
    best.map_or(0, |(i, _)| i)
}
