//! The blocks of a product of matrices of `bf16`, for each instruction that multiplies pairs of them.

use super::aligned_vec::Workspace;
use super::gemm::Lines;
use super::simd::{
    BF16_TILE_COLUMNS, BF16_TILE_ROWS, Bf16Dot, MATRIX_UNIT_COLUMNS, MATRIX_UNIT_ROWS,
    MATRIX_UNIT_STEPS, MatrixUnit, Pair, PairRows,
};
use crate::zip::zip_mut;

/// The columns of a panel.
pub(super) const COLUMNS: usize = 32;

/// Rows so many bytes apart would push each other out of the first-level cache.
const ALIASED: usize = 2048;

const _: () = assert!(BF16_TILE_COLUMNS == COLUMNS && MATRIX_UNIT_COLUMNS == COLUMNS);

/// The sums of a row that are computed at a time.
pub(super) const WIDTH: usize = 256;

/// An instruction that multiplies pairs of `bf16`.
pub(super) trait PairKernel: Copy + Sync {
    /// The rows that are multiplied at a time.
    const ROWS: usize;
    /// The inner dimension has a multiple of so many pairs.
    const STEPS: usize;
    /// The pairs of the inner dimension that are multiplied at a time: what is read again fits in the first-level cache.
    const DEPTH: usize;
    /// About how many pairs are multiplied in a nanosecond.
    const PER_NS: usize;

    /// Adds the product of rows, of pairs in the bits of an `f32`, and of panels of as many steps as rows are long, to
    /// [`ROWS`](Self::ROWS) rows of sums; sums for which there is no row are unspecified. There may be a copy of rows.
    fn add(
        self,
        rows: Lines<'_, f32>,
        panels: &[[Pair; COLUMNS]],
        copy: &mut Workspace<f32>,
        sums: &mut [[f32; WIDTH]],
    );
}

impl PairKernel for Bf16Dot {
    const ROWS: usize = BF16_TILE_ROWS;
    const STEPS: usize = 1;
    const DEPTH: usize = 256;
    const PER_NS: usize = 64;

    fn add(
        self,
        rows: Lines<'_, f32>,
        panels: &[[Pair; COLUMNS]],
        _: &mut Workspace<f32>,
        sums: &mut [[f32; WIDTH]],
    ) {
        let line = |i: usize| bytemuck::cast_slice(rows.line(i.min(rows.count - 1)));
        let lines = std::array::from_fn(line);
        for (i, panel) in panels.chunks_exact(rows.len).enumerate() {
            let products = self.tile(&lines, panel);
            for (sums, products) in sums.iter_mut().zip(&products) {
                let sums = &mut sums[i * COLUMNS..][..COLUMNS];
                zip_mut(sums, products).for_each(|(sum, &v)| *sum += v);
            }
        }
    }
}

impl PairKernel for MatrixUnit {
    const ROWS: usize = MATRIX_UNIT_ROWS;
    const STEPS: usize = MATRIX_UNIT_STEPS;
    const DEPTH: usize = 128;
    const PER_NS: usize = 256;

    fn add(
        self,
        rows: Lines<'_, f32>,
        panels: &[[Pair; COLUMNS]],
        copy: &mut Workspace<f32>,
        sums: &mut [[f32; WIDTH]],
    ) {
        let is_aliased = (rows.step * size_of::<f32>()).is_multiple_of(ALIASED);
        let rows = match rows.count < Self::ROWS || is_aliased {
            false => rows,
            true => {
                let copy = copy.of(Self::ROWS * rows.len);
                for (i, copy) in copy.chunks_exact_mut(rows.len).enumerate() {
                    copy.copy_from_slice(rows.line(i.min(rows.count - 1)));
                }
                Lines::new(copy, rows.len)
            }
        };
        let pairs = PairRows {
            data: bytemuck::cast_slice(rows.data()),
            step: rows.step,
        };
        if let Some(sums) = sums.first_chunk_mut() {
            self.add_products(pairs, panels, rows.len, sums);
        }
    }
}
