//! Sums of columns, row after row, so that memory is read in order.

use std::ops::Range;

use super::number::Number;
use super::row_loops::CombineRows;
use super::simd::run_at_best_level;
use super::threads::{Items, parallel_for};
use crate::Result;
use crate::zip::zip_mut;

/// The number of rows that are added up before their sum is added to the rest, so that the rounding errors of long
/// columns grow with far fewer steps.
const BLOCK: usize = 64;

/// From so many columns on, threads share the columns, and below it the blocks of rows.
const WIDE: usize = 512;

/// The number of columns that are added up at a time, so that their sums stay in the cache.
const COLUMNS: usize = 2048;

/// The number of elements that are added up in a nanosecond, about.
const PER_NS: usize = 8;

/// The sums of the columns of what `f` makes of the elements; `total` is zeros. The number of threads does not change the
/// order.
pub(super) fn sum_columns<T: Number>(
    values: &[T],
    f: impl Fn(T) -> T + Copy + Sync,
    total: &mut [T],
) -> Result<()> {
    let width = total.len();
    let sum_block = |values, columns, out: &mut [T]| {
        run_at_best_level(CombineRows {
            values,
            width,
            columns,
            first: |_| T::zero(),
            combine: |sum: T, v| sum.plus(f(v)),
            out,
        });
    };
    let (rows, blocks) = (values.len() / width, values.len().div_ceil(width * BLOCK));
    if width >= WIDE {
        let work = |columns: Range<usize>, Items(total, _): Items<'_, T>| {
            let mut sums = [T::zero(); COLUMNS];
            for (start, total) in columns.step_by(COLUMNS).zip(total.chunks_mut(COLUMNS)) {
                let columns = start..start + total.len();
                if blocks == 1 {
                    sum_block(values, columns, total);
                    continue;
                }
                let sums = &mut sums[..total.len()];
                for values in values.chunks(width * BLOCK) {
                    sum_block(values, columns.clone(), sums);
                    add(total, sums);
                }
            }
            Ok(())
        };
        return parallel_for(width, rows.div_ceil(PER_NS), Items(total, 1), &work);
    }
    if blocks == 1 {
        sum_block(values, 0..width, total);
        return Ok(());
    }
    let mut sums = vec![T::zero(); blocks * width];
    let work = |range: Range<usize>, Items(sums, _): Items<'_, T>| {
        let values = values[range.start * width * BLOCK..].chunks(width * BLOCK);
        for (sums, values) in sums.chunks_exact_mut(width).zip(values) {
            sum_block(values, 0..width, sums);
        }
        Ok(())
    };
    let block_ns = (width * BLOCK).div_ceil(PER_NS);
    parallel_for(blocks, block_ns, Items(&mut sums, width), &work)?;
    for sums in sums.chunks_exact(width) {
        add(total, sums);
    }
    Ok(())
}

fn add<T: Number>(sums: &mut [T], others: &[T]) {
    for (sum, &other) in zip_mut(sums, others) {
        *sum = sum.plus(other);
    }
}
