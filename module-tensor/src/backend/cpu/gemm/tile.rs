//! The innermost loops of a product, written for the registers of each level.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use ndarray::LinalgScalar;

use super::super::Element;
use super::super::simd::{
    BASELINE_HAS_FMA, HIGH_TILE_ROWS, HighTile, Level, Leveled, LineTile, PACKED_STEPS, PerLevel,
    PlaneTile, Transpose,
};
use super::matrix::Lines;
use crate::zip::zip_mut;

/// The part of the inner dimension that is multiplied at a time: it fits in the first-level cache for a few
/// rows.
pub(in super::super) const DEPTH: usize = 512;

/// The number of rows that high tiles compute of so many: the first ones.
pub(super) fn high_rows(rows: usize) -> usize {
    rows / HIGH_TILE_ROWS * HIGH_TILE_ROWS
}

/// The sizes of a tile.
#[derive(Clone, Copy)]
pub(in super::super) struct Shape {
    /// Rows of a tile.
    pub(super) rows: usize,
    /// Rows of a low tile, for the remaining rows.
    pub(super) few_rows: usize,
    pub(super) columns: usize,
    /// Whether there are [high tiles](HighTile) of `columns` columns.
    has_high: bool,
    /// Columns of a narrow tile, for products that have no more.
    pub(super) few_columns: usize,
}

impl Shape {
    /// The number of columns of the tiles of a product with `columns` columns.
    pub(super) fn width(self, columns: usize) -> usize {
        if columns <= self.few_columns {
            self.few_columns
        } else {
            self.columns
        }
    }

    /// Whether there are [high tiles](HighTile) of so many columns.
    pub(super) fn has_high_tiles_of(self, columns: usize) -> bool {
        self.has_high && columns == self.columns
    }

    /// The approximate number of rows that are computed for `rows` rows.
    pub(super) fn padded_rows(self, rows: usize) -> usize {
        rows.next_multiple_of(self.few_rows)
    }
}

/// Columns of the right factor.
#[derive(Clone, Copy)]
pub(in super::super) enum Right<'a, T> {
    /// Side by side in panels of a tile's width.
    Panels(&'a [T]),
    /// In rows, which are read along memory.
    Rows(Lines<'a, T>),
    /// In rows, of which as many columns are read at a time as a tile has.
    Strips(Lines<'a, T>),
}

/// A block of a product: some rows of the left factor by some columns of the right one.
pub(in super::super) struct Block<'a, 'b, T> {
    pub(super) level: Level,
    pub(super) left: Lines<'a, T>,
    /// The rows of high tiles, if they are [packed](super::pack::tile_rows); else empty.
    pub(super) packed: &'a [[[T; PACKED_STEPS]; HIGH_TILE_ROWS]],
    pub(super) right: Right<'a, T>,
    /// The number of columns of a panel.
    pub(super) width: usize,
    /// Whether there are [high tiles](HighTile).
    pub(super) high: bool,
    /// Memory for the sums of few rows; empty elsewhere.
    pub(super) sums: &'a mut [T],
    pub(super) scale: T,
    /// Whether the sums are added to what `out` holds.
    pub(super) add: bool,
    pub(super) transposed: bool,
    /// The rows and columns of the block in `out`.
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
    pub(super) out: &'a mut [&'b mut [T]],
}

/// The tiles of a type at each level.
pub(in super::super) trait Tile:
    Transpose + HighTile + LineTile + PlaneTile + Element + LinalgScalar
{
    /// The sizes of tiles at a level.
    fn shape(level: Level) -> Shape;

    /// Computes a block by the tiles for AVX-512.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    fn avx512(block: Block<'_, '_, Self>);

    /// Computes a block by the tiles for AVX2.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    fn avx2(block: Block<'_, '_, Self>);

    /// Computes a block by the tiles for the least level.
    fn baseline(block: Block<'_, '_, Self>);
}

/// The rows of a tile at the least level: fewer, for less code, on processors that are so old that they have no multiply-adds.
const BASELINE_ROWS: usize = if BASELINE_HAS_FMA { 6 } else { 4 };

/// The sizes of tiles for each level: as many sums as there are registers for, at least one for each
/// step that a multiply-add takes; and more rows than AVX2 has would keep their addresses out of registers.
macro_rules! tiles {
    ($type:ty: $avx512:literal or $few_avx512:literal, $avx2:literal or $few_avx2:literal, $baseline:literal or $few_baseline:literal) => {
        impl Tile for $type {
            fn shape(level: Level) -> Shape {
                let shape = |rows, columns, few_columns| Shape {
                    rows,
                    few_rows: 4,
                    columns,
                    has_high: columns == $avx512,
                    few_columns,
                };
                level.pick(PerLevel {
                    avx512: shape(8, $avx512, $few_avx512),
                    avx2: shape(6, $avx2, $few_avx2),
                    baseline: shape(BASELINE_ROWS, $baseline, $few_baseline),
                })
            }

            #[inline(always)]
            fn avx512(block: Block<'_, '_, Self>) {
                if block.width == $avx512 {
                    block.run::<true, 8, 4, $avx512>(<$type>::mul_add);
                } else {
                    block.run::<false, 8, 4, $few_avx512>(<$type>::mul_add);
                }
            }

            #[inline(always)]
            fn avx2(block: Block<'_, '_, Self>) {
                if block.width == $avx2 {
                    block.run::<false, 6, 4, $avx2>(<$type>::mul_add);
                } else {
                    block.run::<false, 6, 4, $few_avx2>(<$type>::mul_add);
                }
            }

            #[inline(always)]
            fn baseline(block: Block<'_, '_, Self>) {
                // Without the instruction a fused multiply-add is a call.
                let add = |a: $type, b, sum| {
                    if BASELINE_HAS_FMA {
                        a.mul_add(b, sum)
                    } else {
                        a * b + sum
                    }
                };
                if block.width == $baseline {
                    block.run::<false, BASELINE_ROWS, 4, $baseline>(add);
                } else {
                    block.run::<false, BASELINE_ROWS, 4, $few_baseline>(add);
                }
            }
        }
    };
}

tiles!(f32: 32 or 16, 16 or 8, 8 or 4);
tiles!(f64: 16 or 8, 8 or 4, 4 or 2);

impl<T: Tile> Leveled for Block<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        T::avx512(self);
    }

    #[inline(always)]
    fn run_avx2(self) {
        T::avx2(self);
    }

    #[inline(always)]
    fn run_baseline(self) {
        T::baseline(self);
    }
}

impl<T: Tile> Block<'_, '_, T> {
    #[inline(always)]
    fn run<const HIGH: bool, const ROWS: usize, const FEW: usize, const COLUMNS: usize>(
        mut self,
        fused: impl Fn(T, T, T) -> T + Copy,
    ) {
        let right = match self.right {
            Right::Panels(panels) => panels.as_chunks::<COLUMNS>().0,
            Right::Strips(right) if HIGH => {
                return self.run_strips::<ROWS, FEW, COLUMNS>(right, fused);
            }
            // Without high tiles there are no strips, and so less to compile.
            Right::Rows(right) | Right::Strips(right) => {
                return self.run_in_place::<ROWS, FEW, COLUMNS>(right, fused);
            }
        };
        let mut row = 0;
        if HIGH && self.high {
            self.run_high_tiles(right);
            row = high_rows(self.left.count);
        }
        while row < self.left.count {
            let left = self.left.count - row;
            let fits_low = left <= FEW || (left > ROWS && left <= 2 * FEW);
            if ROWS == FEW || fits_low {
                self.row_of_tiles::<FEW, COLUMNS>(row, right, fused);
                row += FEW;
            } else {
                self.row_of_tiles::<ROWS, COLUMNS>(row, right, fused);
                row += ROWS;
            }
        }
    }

    /// Some rows by all panels.
    #[inline(always)]
    fn row_of_tiles<const ROWS: usize, const COLUMNS: usize>(
        &mut self,
        row: usize,
        right: &[[T; COLUMNS]],
        fused: impl Fn(T, T, T) -> T + Copy,
    ) {
        let left = self.left;
        // What is missing is computed from the last row and not written.
        let lines = left.part::<ROWS>(row, 0..left.len);
        let count = ROWS.min(left.count - row);
        let rows = self.rows.start + row..self.rows.start + row + count;
        for (i, panel) in right.chunks_exact(left.len).enumerate() {
            let sums = sums_of(&lines, panel, fused);
            self.write(sums, rows.clone(), i * COLUMNS);
        }
    }

    /// Writes a tile to some rows and from a column on.
    #[inline(always)]
    pub(super) fn write<const ROWS: usize, const COLUMNS: usize>(
        &mut self,
        mut sums: [[T; COLUMNS]; ROWS],
        rows: Range<usize>,
        column: usize,
    ) {
        let first = self.columns.start + column;
        let columns = first..self.columns.end.min(first + COLUMNS);
        sums.as_flattened_mut()
            .iter_mut()
            .for_each(|sum| *sum = *sum * self.scale);
        if self.transposed {
            let out = &mut self.out[columns];
            write_transposed(self.level, &sums, out, rows, self.add);
        } else {
            let out = &mut self.out[rows];
            for (out, sums) in zip_mut(out, &sums) {
                let out = &mut out[columns.clone()];
                match <&mut [T; COLUMNS]>::try_from(&mut *out) {
                    Ok(out) => write(out, sums, self.add),
                    Err(_) => write(out, &sums[..columns.len()], self.add),
                }
            }
        }
    }
}

/// The sums of a tile, which stay in registers.
#[inline(always)]
fn sums_of<T: Tile, const ROWS: usize, const COLUMNS: usize>(
    rows: &[&[T]; ROWS],
    panel: &[[T; COLUMNS]],
    fused: impl Fn(T, T, T) -> T,
) -> [[T; COLUMNS]; ROWS] {
    let mut sums = [[T::zero(); COLUMNS]; ROWS];
    // One length for all, so that it is checked once.
    let mut rows = *rows;
    for row in &mut rows {
        *row = &row[..panel.len()];
    }
    for (p, line) in panel.iter().enumerate() {
        for (sums, row) in zip_mut(&mut sums, &rows) {
            let factor = row[p];
            for (sum, &v) in zip_mut(sums, line) {
                *sum = fused(factor, v, *sum);
            }
        }
    }
    sums
}

#[inline(always)]
fn write<T: Tile>(out: &mut [T], sums: &[T], add: bool) {
    if add {
        zip_mut(out, sums).for_each(|(out, &sum)| *out += sum);
    } else {
        out.copy_from_slice(sums);
    }
}

/// The lines of a tile as they are transposed, at most.
const SQUARES: usize = 16;

/// Writes the first rows of a tile as columns of `out`.
///
/// It is not part of the loop, so that sums are read from memory and not taken out of registers one by one.
#[inline(never)]
fn write_transposed<T: Tile, const ROWS: usize, const COLUMNS: usize>(
    level: Level,
    sums: &[[T; COLUMNS]; ROWS],
    out: &mut [&mut [T]],
    rows: Range<usize>,
    add: bool,
) {
    // Whole squares are transposed in registers, so that lines are repeated until there are as many.
    let mut lines = [sums[ROWS - 1].as_slice(); SQUARES];
    for (line, sums) in lines.iter_mut().zip(sums) {
        *line = sums;
    }
    let side = if ROWS > 8 && size_of::<T>() == 4 {
        16
    } else {
        4
    };
    let count = ROWS.next_multiple_of(side).min(SQUARES);
    let mut columns = [[T::zero(); SQUARES]; COLUMNS];
    T::transpose(level, &lines[..count], columns.as_flattened_mut(), SQUARES);
    for (out, column) in zip_mut(out, &columns) {
        let out = &mut out[rows.clone()];
        match <&mut [T; ROWS]>::try_from(&mut *out) {
            Ok(out) => write(out, &column[..ROWS], add),
            Err(_) => write(out, &column[..rows.len()], add),
        }
    }
}
