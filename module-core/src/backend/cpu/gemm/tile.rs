//! The innermost loops of a product, written for the registers of each level.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::float::Float;
use super::super::simd::{Level, Leveled, PerLevel};

/// The sizes of a tile.
#[derive(Clone, Copy)]
pub(in super::super) struct Shape {
    /// Rows of a high tile.
    pub(super) rows: usize,
    /// Rows of a low tile, for what is left.
    pub(super) few_rows: usize,
    pub(super) columns: usize,
}

impl Shape {
    /// How many of `rows` the next tile takes.
    #[inline(always)]
    fn next(self, rows: usize) -> usize {
        let fits_low = rows <= self.few_rows || (rows > self.rows && rows <= 2 * self.few_rows);
        if fits_low { self.few_rows } else { self.rows }
    }

    /// How many rows are computed for so many.
    pub(super) fn padded_rows(self, rows: usize) -> usize {
        let (tall, left) = (rows / self.rows, rows % self.rows);
        let rest = if left == 0 { 0 } else { self.next(left) };
        tall * self.rows + rest
    }
}

/// A block of a product: some rows of the left factor by panels of the right one.
pub(in super::super) struct Block<'a, 'b, T> {
    pub(super) left: &'a [&'a [T]],
    pub(super) right: &'a [T],
    pub(super) depth: usize,
    pub(super) scale: T,
    /// Whether the sums are added to what `out` holds.
    pub(super) add: bool,
    pub(super) transposed: bool,
    /// The columns that the panels hold.
    pub(super) columns: Range<usize>,
    pub(super) out: &'a mut [&'b mut [T]],
}

/// The tiles of a type at each level.
pub(in super::super) trait Tile: Sized {
    /// The sizes of tiles at a level.
    fn shape(level: Level) -> Shape;

    /// Computes a block by the tiles for AVX-512.
    fn avx512(block: Block<'_, '_, Self>);

    /// Computes a block by the tiles for AVX2.
    fn avx2(block: Block<'_, '_, Self>);

    /// Computes a block by the tiles for the least level.
    fn baseline(block: Block<'_, '_, Self>);
}

/// The sizes of tiles for each level: as many sums as there are registers for, at least one for each
/// step that a multiply-add takes; and more rows than AVX2 has would keep their addresses out of registers.
macro_rules! tiles {
    ($type:ty: $avx512:literal, $avx2:literal, $baseline:literal) => {
        impl Tile for $type {
            fn shape(level: Level) -> Shape {
                let shape = |rows, few_rows, columns| Shape {
                    rows,
                    few_rows,
                    columns,
                };
                level.pick(PerLevel {
                    avx512: shape(8, 4, $avx512),
                    avx2: shape(6, 4, $avx2),
                    baseline: shape(6, 4, $baseline),
                })
            }

            #[inline(always)]
            fn avx512(block: Block<'_, '_, Self>) {
                block.run::<8, 4, $avx512>(<$type>::mul_add);
            }

            #[inline(always)]
            fn avx2(block: Block<'_, '_, Self>) {
                block.run::<6, 4, $avx2>(<$type>::mul_add);
            }

            #[inline(always)]
            fn baseline(block: Block<'_, '_, Self>) {
                // Without the instruction a fused multiply-add is a call.
                let add = |a: $type, b, sum| {
                    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
                        a.mul_add(b, sum)
                    } else {
                        a * b + sum
                    }
                };
                block.run::<6, 4, $baseline>(add);
            }
        }
    };
}

tiles!(f32: 32, 16, 8);
tiles!(f64: 16, 8, 4);

impl<T: Float> Leveled for Block<'_, '_, T> {
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

impl<T: Float> Block<'_, '_, T> {
    #[inline(always)]
    fn run<const ROWS: usize, const FEW: usize, const COLUMNS: usize>(
        mut self,
        fused: impl Fn(T, T, T) -> T + Copy,
    ) {
        let shape = Shape {
            rows: ROWS,
            few_rows: FEW,
            columns: COLUMNS,
        };
        let right = self.right.as_chunks::<COLUMNS>().0;
        let mut row = 0;
        while row < self.left.len() {
            let rows = shape.next(self.left.len() - row);
            if rows == ROWS {
                self.row_of_tiles::<ROWS, COLUMNS>(row, right, fused);
            } else {
                self.row_of_tiles::<FEW, COLUMNS>(row, right, fused);
            }
            row += rows;
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
        let left = &self.left[row..];
        // What is missing is computed from the last row and not written.
        let rows: [&[T]; ROWS] = std::array::from_fn(|i| left[i.min(left.len() - 1)]);
        let count = left.len().min(ROWS);
        for (i, panel) in right.chunks_exact(self.depth).enumerate() {
            let first = self.columns.start + i * COLUMNS;
            let columns = first..self.columns.end.min(first + COLUMNS);
            let mut sums = sums_of(&rows, panel, fused);
            sums.as_flattened_mut()
                .iter_mut()
                .for_each(|sum| *sum = sum.times(self.scale));
            if self.transposed {
                write_transposed(&sums, count, &mut self.out[columns], row, self.add);
            } else {
                let out = &mut self.out[row..row + count];
                for (out, sums) in out.iter_mut().zip(&sums) {
                    let out = &mut out[columns.clone()];
                    match <&mut [T; COLUMNS]>::try_from(&mut *out) {
                        Ok(out) => write(out, sums, self.add),
                        Err(_) => write(out, &sums[..columns.len()], self.add),
                    }
                }
            }
        }
    }
}

/// The sums of a tile, which stay in registers.
#[inline(always)]
fn sums_of<T: Float, const ROWS: usize, const COLUMNS: usize>(
    rows: &[&[T]; ROWS],
    panel: &[[T; COLUMNS]],
    fused: impl Fn(T, T, T) -> T,
) -> [[T; COLUMNS]; ROWS] {
    let mut sums = [[T::zero(); COLUMNS]; ROWS];
    // One length for all, so that it is checked once.
    let rows = rows.map(|row| &row[..panel.len()]);
    for (p, line) in panel.iter().enumerate() {
        for (sums, row) in sums.iter_mut().zip(rows) {
            let factor = row[p];
            for (sum, &v) in sums.iter_mut().zip(line) {
                *sum = fused(factor, v, *sum);
            }
        }
    }
    sums
}

#[inline(always)]
fn write<T: Float>(out: &mut [T], sums: &[T], add: bool) {
    if add {
        out.iter_mut()
            .zip(sums)
            .for_each(|(out, &sum)| *out = out.plus(sum));
    } else {
        out.copy_from_slice(sums);
    }
}

/// Writes the first rows of a tile as columns of `out`.
///
/// It is no part of the loop, so that sums are read from memory and not taken out of registers one by one.
#[inline(never)]
fn write_transposed<T: Float, const ROWS: usize, const COLUMNS: usize>(
    sums: &[[T; COLUMNS]; ROWS],
    rows: usize,
    out: &mut [&mut [T]],
    first: usize,
    add: bool,
) {
    for (column, out) in out.iter_mut().enumerate().take(COLUMNS) {
        let out = &mut out[first..first + rows];
        let sums: [T; ROWS] = std::array::from_fn(|row| sums[row][column]);
        match <&mut [T; ROWS]>::try_from(&mut *out) {
            Ok(out) => write(out, &sums, add),
            Err(_) => write(out, &sums[..rows], add),
        }
    }
}
