//! The rows of a product that high tiles compute.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::simd::{HIGH_TILE_ROWS, Level, PACKED_STEPS, Strip, TileRows};
use super::tile::{Block, Tile, high_rows};

/// The minimum number of rows, and of elements of each, for high tiles: of 32 rows products take 0.86 of the time.
const LEAST_ROWS: usize = 20;
const LEAST_DEPTH: usize = 64;

/// Whether there are high tiles for so many rows of so many elements, and panels of a width.
pub(super) fn has_high_tiles<T: Tile>(
    level: Level,
    [rows, depth]: [usize; 2],
    width: usize,
) -> bool {
    T::shape(level).has_high_tiles_of(width) && rows >= LEAST_ROWS && depth >= LEAST_DEPTH
}

impl<'a, T: Tile> Block<'a, '_, T> {
    /// The factors of a high tile from a row on: packed if there are packed ones.
    #[inline(always)]
    fn tile_rows(&self, row: usize) -> TileRows<'a, T> {
        let (left, depth) = (self.left, self.left.len);
        if self.packed.is_empty() {
            return TileRows::Apart {
                data: left.line_on(row, 0),
                step: left.step,
                depth,
            };
        }
        let blocks = depth.div_ceil(PACKED_STEPS);
        let first = row / HIGH_TILE_ROWS * blocks;
        TileRows::Packed {
            blocks: self.packed.get(first..first + blocks).unwrap_or_default(),
            depth,
        }
    }

    /// All high tiles, by all panels.
    #[inline(always)]
    pub(super) fn run_high_tiles<const COLUMNS: usize>(&mut self, right: &[[T; COLUMNS]]) {
        for row in (0..high_rows(self.left.count)).step_by(HIGH_TILE_ROWS) {
            for (i, panel) in right.chunks_exact(self.left.len).enumerate() {
                let panel = Strip {
                    data: panel.as_flattened(),
                    step: COLUMNS,
                };
                self.high_tile::<COLUMNS>(row, panel, i * COLUMNS);
            }
        }
    }

    /// A high tile, from a row and a column on, which the strip begins at.
    #[inline(always)]
    pub(super) fn high_tile<const COLUMNS: usize>(
        &mut self,
        row: usize,
        strip: Strip<'_, T>,
        column: usize,
    ) {
        let tile_rows = self.tile_rows(row);
        let rows = self.rows.start + row..self.rows.start + row + HIGH_TILE_ROWS;
        let first = self.columns.start + column;
        let is_plain = !self.transposed && self.scale == T::one();
        if is_plain && first + COLUMNS <= self.columns.end {
            let mut out = self.out[rows].iter_mut();
            let mut next = || out.next()?[first..].first_chunk_mut();
            let out = std::array::from_fn(|_| next());
            T::high_tile::<COLUMNS>(self.level, tile_rows, strip, self.add, out);
            return;
        }
        let mut sums = [[T::zero(); COLUMNS]; HIGH_TILE_ROWS];
        let out = sums.each_mut().map(Some);
        T::high_tile(self.level, tile_rows, strip, false, out);
        self.write(sums, rows, column);
    }
}
