//! Folds along dimensions.

use ndarray::{ArrayD, Axis, CowArray, IxDyn};

use super::map::{NumberKernel, run_number};
use super::number::Number;
use super::view::{to_cow, view};
use super::{ArgReduceOp, CpuStorage, Operand, ReduceOp, Storage, room};
use crate::{DType, Result};

pub(super) fn reduce(op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
    run_number(x.storage.dtype(), Reduce(op, x, dims))
}

struct Reduce<'a>(ReduceOp, Operand, &'a [usize]);

impl NumberKernel for Reduce<'_> {
    const NAME: &'static str = "reduction";
    type Output = Storage;

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, x, dims) = self;
        let out = x.layout.shape().reduced(dims, true).numel();
        room::<T>(out)?;
        // Folding one dimension after the other could pass through something large.
        if x.layout.shape().contains(&0) {
            return Ok(CpuStorage::wrap(vec![T::zero(); out]));
        }
        if let (ReduceOp::Sum, Some(&only)) = (op, dims.first())
            && dims.len() == 1
            && only + 1 == x.layout.rank()
        {
            return sum_rows::<T>(&x);
        }
        let mut values: CowArray<'_, T, IxDyn> = view::<T>(&x)?.into();
        // From the last, so that the numbers of the others stay true.
        for &dim in dims.iter().rev() {
            values = fold(op, &values, Axis(dim)).into();
        }
        let values = values.as_standard_layout();
        Ok(CpuStorage::wrap(values.iter().copied().collect()))
    }
}

fn fold<T: Number>(op: ReduceOp, x: &CowArray<'_, T, IxDyn>, axis: Axis) -> ArrayD<T> {
    match op {
        ReduceOp::Sum => T::sum_axis(&x.view(), axis),
        ReduceOp::Max => extreme(x, axis, T::greater),
        ReduceOp::Min => extreme(x, axis, T::smaller),
    }
}

/// Folds from the first element on, so that no start value is needed; callers refuse empty
/// dimensions.
fn extreme<T: Number>(
    x: &CowArray<'_, T, IxDyn>,
    axis: Axis,
    better: impl Fn(T, T) -> T + Copy,
) -> ArrayD<T> {
    x.map_axis(axis, |lane| {
        let mut lane = lane.into_iter().copied();
        let first = lane.next().unwrap_or_else(T::zero);
        lane.fold(
            first,
            |best, v| if v.is_nan() { v } else { better(best, v) },
        )
    })
}

/// Sums of contiguous rows, each in eight partial sums, which is faster and rounds less.
fn sum_rows<T: Number>(x: &Operand) -> Result<Storage> {
    let values = to_cow::<T>(x)?;
    let shape = x.layout.shape();
    let width = shape.last().copied().unwrap_or(1);
    Ok(CpuStorage::wrap(
        values.chunks_exact(width.max(1)).map(sum_row).collect(),
    ))
}

fn sum_row<T: Number>(row: &[T]) -> T {
    let mut partial = [T::zero(); 8];
    let (blocks, rest) = row.as_chunks::<8>();
    for block in blocks {
        for (sum, &v) in partial.iter_mut().zip(block) {
            *sum = sum.plus(v);
        }
    }
    let rest = rest.iter().fold(T::zero(), |sum, &v| sum.plus(v));
    partial.into_iter().fold(rest, T::plus)
}

pub(super) fn arg_reduce(op: ArgReduceOp, x: Operand, dim: usize) -> Result<Storage> {
    let x = match x.storage.dtype() {
        // Widening keeps the order.
        DType::F16 | DType::BF16 => {
            let layout = crate::layout::Layout::contiguous(x.layout.shape().clone());
            Operand {
                storage: super::map::cast(x, DType::F32)?,
                layout,
            }
        }
        _ => x,
    };
    run_number(x.storage.dtype(), ArgReduce(op, x, dim))
}

struct ArgReduce(ArgReduceOp, Operand, usize);

impl NumberKernel for ArgReduce {
    const NAME: &'static str = "argmax or argmin";
    type Output = Storage;

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, x, dim) = self;
        let wins = |v: T, best: T| match op {
            ArgReduceOp::Max => v > best,
            ArgReduceOp::Min => v < best,
        };
        let places = view::<T>(&x)?.map_axis(Axis(dim), |lane| {
            let mut best: Option<(i64, T)> = None;
            for (i, &v) in (0_i64..).zip(lane.iter()) {
                match best {
                    Some((_, b)) if b.is_nan() || !(v.is_nan() || wins(v, b)) => {}
                    _ => best = Some((i, v)),
                }
            }
            best.map_or(0, |(i, _)| i)
        });
        let places = places.as_standard_layout();
        Ok(CpuStorage::wrap(places.iter().copied().collect()))
    }
}
