//! Reductions along dimensions.

use std::cmp::Reverse;
use std::ops::Range;

use super::aligned_vec::AlignedVec;
use super::extremes::extremes_of_lines;
use super::fold::{fold_rows, products_of_lines};
use super::lanes::{sum_lines, sum_squares_of_lines};
use super::map::{NumberKernel, run_number};
use super::memory::filled;
use super::number::Number;
use super::reduced_lines::{Lines, apart};
use super::sum_columns::sum_columns;
use super::threads::{Items, parallel_for};
use super::{CpuStorage, Operand, ReduceOp, Storage, check_allocatable};
use crate::Result;
use crate::layout::{Layout, Shape};

pub(super) fn reduce(op: ReduceOp, x: Operand, dims: &[usize]) -> Result<Storage> {
    if let Some((x, dims)) = in_order_of_memory(&x, dims) {
        return reduce(op, x, &dims);
    }
    match in_two_steps(x.layout.shape(), dims) {
        Some([first, then]) => {
            let x = after(&x, first, reduce(op, x.clone(), first)?);
            reduce(op, x, then)
        }
        None => run_number(x.storage.dtype(), Reduce(op, x, dims)),
    }
}

/// The operand with its dimensions in the order of memory, and those to reduce among them, unless that is their order, or those
/// that stay would change theirs: rows that were transposed are read as columns instead of being copied.
fn in_order_of_memory(x: &Operand, dims: &[usize]) -> Option<(Operand, Vec<usize>)> {
    let layout = &x.layout;
    if layout.is_contiguous() || layout.strides().contains(&0) {
        return None;
    }
    let mut order: Vec<usize> = (0..layout.shape().len()).collect();
    order.sort_by_key(|&dim| Reverse(layout.strides()[dim]));
    let stay = order.iter().filter(|dim| !dims.contains(dim));
    if order.is_sorted() || !stay.is_sorted() {
        return None;
    }
    let moved = Operand {
        storage: x.storage.clone(),
        layout: layout.permute(&order),
    };
    let positions = (0..order.len()).filter(|&at| dims.contains(&order[at]));
    Some((moved, positions.collect()))
}

/// With fewer elements in a line, it is faster to reduce the other dimensions before, row by row.
const SHORT: usize = 256;

/// The dimensions to reduce first, and those to reduce then, unless all are neighbors.
fn in_two_steps<'d>(shape: &Shape, dims: &'d [usize]) -> Option<[&'d [usize]; 2]> {
    let (others, last) = apart(shape, dims)?;
    let count: usize = last.iter().map(|&dim| shape[dim]).product();
    Some(match count < SHORT {
        true => [others, last],
        false => [last, others],
    })
}

/// The operand after these dimensions were reduced.
fn after(x: &Operand, dims: &[usize], storage: Storage) -> Operand {
    let layout = Layout::contiguous(x.layout.shape().reduced(dims, true));
    Operand { storage, layout }
}

struct Reduce<'a>(ReduceOp, Operand, &'a [usize]);

impl NumberKernel for Reduce<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(op, x, dims) = self;
        let Some(lines) = lines::<T>(&x, dims)? else {
            let nothing = match op {
                ReduceOp::Prod => T::one(),
                _ => T::zero(),
            };
            let kept = x.layout.shape().reduced(dims, true).numel();
            return Ok(CpuStorage::wrap(vec![nothing; kept]));
        };
        Ok(CpuStorage::wrap(match op {
            ReduceOp::Sum => of_lines(
                &lines,
                &|values, count, out| {
                    sum_lines(values, count, out);
                    Ok(())
                },
                &|rows, out| sum_columns(rows, |v| v, out),
            ),
            ReduceOp::Prod => of_lines(&lines, &products_of_lines, &|rows, out| {
                fold_rows(rows, T::times, out)
            }),
            ReduceOp::Max => of_lines(
                &lines,
                &|values, count, out| extremes_of_lines(values, count, T::gt, out),
                &|rows, out| fold_rows(rows, T::greater, out),
            ),
            ReduceOp::Min => of_lines(
                &lines,
                &|values, count, out| extremes_of_lines(values, count, T::lt, out),
                &|rows, out| fold_rows(rows, T::smaller, out),
            ),
        }?))
    }
}

/// The sums of squares, in the order in which [`reduce`] sums.
pub(super) fn sum_squares(x: Operand, dims: &[usize]) -> Result<Storage> {
    if let Some((x, dims)) = in_order_of_memory(&x, dims) {
        return sum_squares(x, &dims);
    }
    match in_two_steps(x.layout.shape(), dims) {
        Some([first, then]) => {
            let x = after(&x, first, sum_squares(x.clone(), first)?);
            reduce(ReduceOp::Sum, x, then)
        }
        None => run_number(x.storage.dtype(), SumSquares(x, dims)),
    }
}

struct SumSquares<'a>(Operand, &'a [usize]);

impl NumberKernel for SumSquares<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "norm"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(x, dims) = self;
        let Some(lines) = lines::<T>(&x, dims)? else {
            let kept = x.layout.shape().reduced(dims, true).numel();
            return Ok(CpuStorage::wrap(vec![T::zero(); kept]));
        };
        let sums = of_lines(
            &lines,
            &|values, count, out| {
                sum_squares_of_lines(values, count, out);
                Ok(())
            },
            &|rows, out| sum_columns(rows, |v: T| v.times(v), out),
        )?;
        Ok(CpuStorage::wrap(sums))
    }
}

/// The lines along dimensions, if there are elements, and room for what becomes of them.
fn lines<'a, T: Number>(x: &'a Operand, dims: &[usize]) -> Result<Option<Lines<'a, T>>> {
    let shape = x.layout.shape();
    check_allocatable::<T>(shape.reduced(dims, true).numel())?;
    match shape.contains(&0) {
        true => Ok(None),
        false => Lines::along(x, dims).map(Some),
    }
}

type OfLines<'f, T> = &'f (dyn Fn(&[T], usize, &mut [T]) -> Result<()> + Sync);
type OfRows<'f, T> = &'f (dyn Fn(&[T], &mut [T]) -> Result<()> + Sync);

/// Reduces each line: by `of_side_by_side` if its elements lie side by side, and else by `of_rows`, which makes one row
/// of several.
fn of_lines<T: Number>(
    lines: &Lines<'_, T>,
    of_side_by_side: OfLines<'_, T>,
    of_rows: OfRows<'_, T>,
) -> Result<AlignedVec<T>> {
    let Lines { count, inner, .. } = *lines;
    let mut all = filled(lines.lines(), T::zero())?;
    let work = |range: Range<usize>, Items(out, _): Items<'_, T>| {
        let values = &lines.values[range.start * count * inner..];
        if inner == 1 {
            return of_side_by_side(values, count, out);
        }
        let blocks = values.chunks_exact(count * inner);
        for (out, rows) in out.chunks_exact_mut(inner).zip(blocks) {
            of_rows(rows, out)?;
        }
        Ok(())
    };
    let outer = all.len() / inner;
    // Eight elements in a nanosecond, about. A block alone is shared among threads by what reduces it.
    let block_ns = match outer {
        1 => 0,
        _ => (count * inner).div_ceil(8),
    };
    parallel_for(outer, block_ns, Items(&mut all, inner), &work)?;
    Ok(all)
}

#[cfg(test)]
mod tests;
