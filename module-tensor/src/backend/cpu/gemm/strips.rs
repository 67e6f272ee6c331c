//! Products of some rows, too many for [`in_place`](super::in_place) and too few to pay for copying the right factor: it is
//! read where it lies, strip by strip of as many columns as a tile has.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::simd::{HIGH_TILE_ROWS, Level, Strip};
use super::high_tile::has_high_tiles;
use super::in_place::add_products;
use super::matrix::{Lines, is_aliased};
use super::tile::{Block, Tile, high_rows};

/// The maximum number of rows of a product for which copying the right factor does not pay off: of 120 rows products take 0.89 of
/// the time, of 250 rows 0.95, and of 500 rows up to 1.03.
const MAX_ROWS: usize = 250;

/// Whether strips take less time than panels, with `step` elements from one row of the right factor to the next. Where rows
/// push each other out of the caches they do not.
pub(super) fn pay_off<T: Tile>(
    level: Level,
    [rows, depth]: [usize; 2],
    width: usize,
    step: usize,
) -> bool {
    has_high_tiles::<T>(level, [rows, depth], width) && rows <= MAX_ROWS && !is_aliased::<T>(step)
}

impl<T: Tile> Block<'_, '_, T> {
    /// All rows by all columns of the right factor's rows: high tiles, and low ones for the remaining rows and columns.
    #[inline(always)]
    pub(super) fn run_strips<const ROWS: usize, const FEW: usize, const COLUMNS: usize>(
        &mut self,
        right: Lines<'_, T>,
        fused: impl Fn(T, T, T) -> T + Copy,
    ) {
        let left = self.left;
        for column in (0..right.len).step_by(COLUMNS) {
            let mut row = 0;
            if self.high && column + COLUMNS <= right.len {
                let strip = Strip {
                    data: &right.data()[column..],
                    step: right.step,
                };
                while row < high_rows(left.count) {
                    self.high_tile::<COLUMNS>(row, strip, column);
                    row += HIGH_TILE_ROWS;
                }
            }
            while row < left.count {
                if left.count - row <= FEW {
                    self.low_tile::<FEW, COLUMNS>(row, (right, column), fused);
                    row += FEW;
                } else {
                    self.low_tile::<ROWS, COLUMNS>(row, (right, column), fused);
                    row += ROWS;
                }
            }
        }
    }

    /// A tile of fewer rows, from a row and a column of the right factor on.
    #[inline(always)]
    fn low_tile<const ROWS: usize, const COLUMNS: usize>(
        &mut self,
        row: usize,
        right: (Lines<'_, T>, usize),
        fused: impl Fn(T, T, T) -> T,
    ) {
        let left = self.left;
        let mut sums = [[T::zero(); COLUMNS]; ROWS];
        add_products(&mut sums, left.part(row, 0..left.len), right, fused);
        let first = self.rows.start + row;
        self.write(sums, first..self.rows.end.min(first + ROWS), right.1);
    }
}
