//! Products of few rows, whose right factor is read where it lies: copying it would take as long as
//! multiplying.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::matrix::Lines;
use super::tile::{Block, Tile};
use crate::zip::zip_mut;

/// The maximum number of rows of a product for which copying the right factor does not pay off.
pub(super) const MAX_ROWS: usize = 16;

/// The number of columns that are computed at a time: their sums stay in the first-level cache.
pub(super) const WIDTH: usize = 1024;

/// The number of rows of the right factor that are read at a time, so that they are read along memory.
const STEPS: usize = 32;

/// The number of sums of a block of so many rows by [`WIDTH`] columns, for tiles of any sizes.
pub(super) const SUMS: usize = 2 * MAX_ROWS * WIDTH;

impl<T: Tile> Block<'_, '_, T> {
    /// All rows by all columns of the right factor's rows.
    #[inline(always)]
    pub(super) fn run_in_place<const ROWS: usize, const FEW: usize, const COLUMNS: usize>(
        mut self,
        right: Lines<'_, T>,
        fused: impl Fn(T, T, T) -> T + Copy,
    ) {
        let left = self.left;
        let sums = std::mem::take(&mut self.sums);
        let sums = sums.as_chunks_mut::<COLUMNS>().0.as_chunks_mut::<ROWS>().0;
        let row_tiles = left.count.div_ceil(ROWS);
        let tiles = row_tiles * right.len.div_ceil(COLUMNS);
        let sums = &mut sums[..tiles];
        sums.fill([[T::zero(); COLUMNS]; ROWS]);
        // One column of tiles reads along memory anyway.
        let at_a_time = if right.len <= COLUMNS {
            left.len
        } else {
            STEPS
        };
        for first in (0..left.len).step_by(at_a_time) {
            let steps = at_a_time.min(left.len - first);
            let block = right.from(first, steps);
            for (i, sums) in sums.chunks_exact_mut(row_tiles).enumerate() {
                let part = (block, i * COLUMNS);
                for (tile, sums) in sums.iter_mut().enumerate() {
                    let row = tile * ROWS;
                    match sums.first_chunk_mut::<FEW>() {
                        Some(sums) if left.count - row <= FEW => {
                            add_products(sums, left.part(row, first..first + steps), part, fused);
                        }
                        _ => add_products(sums, left.part(row, first..first + steps), part, fused),
                    }
                }
            }
        }
        for (i, sums) in sums.chunks_exact(row_tiles).enumerate() {
            for (tile, sums) in sums.iter().enumerate() {
                let row = self.rows.start + tile * ROWS;
                let rows = row..self.rows.end.min(row + ROWS);
                self.write(*sums, rows, i * COLUMNS);
            }
        }
    }
}

/// Adds the products of some steps of the inner dimension to the sums of a tile, which starts at a column of the
/// right factor's rows.
#[inline(always)]
pub(super) fn add_products<T: Tile, const ROWS: usize, const COLUMNS: usize>(
    out: &mut [[T; COLUMNS]; ROWS],
    mut rows: [&[T]; ROWS],
    (right, column): (Lines<'_, T>, usize),
    fused: impl Fn(T, T, T) -> T,
) {
    // Sums of its own stay in registers, and one length for all is checked once.
    let mut sums = *out;
    for row in &mut rows {
        *row = &row[..right.count];
    }
    let mut beside = [T::zero(); COLUMNS];
    for p in 0..right.count {
        // Columns after the last are not written, whatever they hold.
        let line = right.line_on(p, column);
        let line = match line.first_chunk() {
            Some(line) => line,
            None => {
                beside[..line.len()].copy_from_slice(line);
                &beside
            }
        };
        for (sums, row) in zip_mut(&mut sums, &rows) {
            let factor = row[p];
            for (sum, &v) in zip_mut(sums, line) {
                *sum = fused(factor, v, *sum);
            }
        }
    }
    *out = sums;
}
