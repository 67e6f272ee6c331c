//! Where the greatest and the smallest element of each line is.

use std::ops::Range;

use super::extremes::{IsBetter, positions_in_lines};
use super::map::{NumberKernel, run_number, widened};
use super::number::Number;
use super::reduced_lines::Lines;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::{ArgReduceOp, CpuStorage, Operand, Storage};
use crate::Result;
use crate::zip::zip_mut2;

/// The first element that is at least as extreme as all others, or the first NaN.
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
        let lines = Lines::along_apart_if_few(&x, &[dim])?;
        let indices = match op {
            ArgReduceOp::Max => indices(&lines, T::gt),
            ArgReduceOp::Min => indices(&lines, T::lt),
        }?;
        Ok(CpuStorage::wrap(indices))
    }
}

fn indices<T: Number>(lines: &Lines<'_, T>, is_better: impl IsBetter<T>) -> Result<Vec<i64>> {
    let Lines { count, inner, .. } = *lines;
    let mut indices = vec![0; lines.lines()];
    if indices.is_empty() {
        return Ok(indices);
    }
    if inner == 1 {
        let work = |range: Range<usize>, Items(out, _): Items<'_, i64>| {
            let values = &lines.values[range.start * count..range.end * count];
            positions_in_lines(values, count, is_better, out)
        };
        parallel_for(indices.len(), count, Items(&mut indices, 1), &work)?;
        return Ok(indices);
    }
    let work = |range: Range<usize>, Items(out, _): Items<'_, i64>| {
        let blocks = lines.values[range.start * count * inner..].chunks_exact(count * inner);
        for (indices, rows) in out.chunks_exact_mut(inner).zip(blocks) {
            run_at_best_level(IndexRows {
                rows,
                indices,
                is_better,
            });
        }
        Ok(())
    };
    let outer = indices.len() / inner;
    parallel_for(outer, count * inner, Items(&mut indices, inner), &work)?;
    Ok(indices)
}

/// The indices for columns, from one row to the next.
struct IndexRows<'a, T, F> {
    rows: &'a [T],
    indices: &'a mut [i64],
    is_better: F,
}

impl<T: Number, F: Fn(&T, &T) -> bool + Copy> Loop for IndexRows<'_, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self {
            rows,
            indices,
            is_better,
        } = self;
        let better = |(best, index): (T, i64), v: T, i: i64| {
            let is_next = is_better(&v, &best) | (v.is_nan() & !best.is_nan());
            (
                if is_next { v } else { best },
                if is_next { i } else { index },
            )
        };
        let mut best: Vec<T> = rows[..indices.len()].to_vec();
        indices.fill(0);
        let mut rows = (0_i64..).zip(rows.chunks_exact(indices.len())).skip(1);
        // Two at a time, so that no store is masked (see `simd`).
        while let Some((i, row)) = rows.next() {
            // The last row may be alone. Again, it is not better than itself.
            let next = rows.next().map_or(row, |(_, next)| next);
            let columns = zip_mut2(&mut best, row, next);
            for (index, (best, &a, &b)) in indices.iter_mut().zip(columns) {
                let first = better((*best, *index), a, i);
                (*best, *index) = better(first, b, i + 1);
            }
        }
    }
}
