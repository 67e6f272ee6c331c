//! Sums of columns, row after row, so that memory is read in order.

use std::ops::Range;

use super::number::Number;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use crate::Result;
use crate::zip::zip_mut;

/// The number of rows that are added up before their sum is added to the rest, so that the rounding errors of long
/// columns grow with far fewer steps.
const BLOCK: usize = 64;

/// From so many columns on, four rows are added at a time, and below it all of them, column by column.
const NARROW: usize = 128;

/// From so many columns on, threads share the columns, and below it the blocks of rows.
const WIDE: usize = 512;

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
    let add_block = |values, columns, sums: &mut [T]| {
        run_at_best_level(AddBlock {
            values,
            width,
            columns,
            sums,
            f,
        });
    };
    let (rows, blocks) = (values.len() / width, values.len().div_ceil(width * BLOCK));
    if width >= WIDE {
        let work = |columns: Range<usize>, Items(total, _): Items<'_, T>| {
            let mut sums = vec![T::zero(); columns.len()];
            for values in values.chunks(width * BLOCK) {
                sums.fill(T::zero());
                add_block(values, columns.clone(), &mut sums);
                add(total, &sums);
            }
            Ok(())
        };
        return parallel_for(width, rows.div_ceil(PER_NS), Items(total, 1), &work);
    }
    if blocks == 1 {
        add_block(values, 0..width, total);
        return Ok(());
    }
    let mut sums = vec![T::zero(); blocks * width];
    let work = |range: Range<usize>, Items(sums, _): Items<'_, T>| {
        let values = values[range.start * width * BLOCK..].chunks(width * BLOCK);
        for (sums, values) in sums.chunks_exact_mut(width).zip(values) {
            add_block(values, 0..width, sums);
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

/// Adds some columns of rows to their sums, which are zeros.
struct AddBlock<'a, T, F> {
    values: &'a [T],
    width: usize,
    columns: Range<usize>,
    sums: &'a mut [T],
    f: F,
}

impl<T: Number, F: Fn(T) -> T + Copy> Loop for AddBlock<'_, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        // Of loops over fewer than 64 elements, the compiler makes vectors only if it knows their number.
        match self.sums.len() {
            8..16 if self.width < 16 => self.add_narrow::<8>(),
            16..NARROW if self.width < NARROW => self.add_narrow::<16>(),
            _ => self.add(),
        }
    }
}

impl<T: Number, F: Fn(T) -> T + Copy> AddBlock<'_, T, F> {
    /// Adds whole rows of at least `W` elements, `W` columns at a time. The last may overlap those before.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn add_narrow<const W: usize>(self) {
        let end = self.width - W;
        for start in (0..self.width).step_by(W) {
            let start = start.min(end);
            let mut own = [T::zero(); W];
            for row in self.values.chunks_exact(self.width) {
                if let Some(row) = row.get(start..).and_then(<[T]>::first_chunk::<W>) {
                    for (sum, &v) in zip_mut(&mut own, row) {
                        *sum = sum.plus((self.f)(v));
                    }
                }
            }
            self.sums[start..][..W].copy_from_slice(&own);
        }
    }

    // Four rows at a time, so that a sum is read and written for four elements.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn add(self) {
        let Self {
            values,
            width,
            columns,
            sums,
            f,
        } = self;
        let fours = values.chunks_exact(4 * width);
        let rest = fours.remainder().chunks_exact(width);
        for four in fours {
            let row = |i: usize| &four[i * width..][columns.clone()][..sums.len()];
            let rows = [row(0), row(1), row(2), row(3)];
            for (i, sum) in sums.iter_mut().enumerate() {
                for row in rows {
                    *sum = sum.plus(f(row[i]));
                }
            }
        }
        for row in rest {
            for (sum, &v) in zip_mut(sums, &row[columns.clone()]) {
                *sum = sum.plus(f(v));
            }
        }
    }
}
