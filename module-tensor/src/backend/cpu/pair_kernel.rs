//! The blocks of a product of matrices of `bf16`, for each instruction that multiplies pairs of them.

use std::ops::Range;

use super::aligned_vec::Workspace;
use super::gemm::Lines;
use super::simd::{
    BF16_TILE_COLUMNS, BF16_TILE_ROWS, Bf16Dot, MATRIX_UNIT_COLUMNS, MATRIX_UNIT_ROWS,
    MATRIX_UNIT_STEPS, MatrixUnit, Pair, PairRows,
};
use crate::zip::zip_mut;

/// The columns of a panel.
pub(super) const COLUMNS: usize = 32;

const _: () = assert!(BF16_TILE_COLUMNS == COLUMNS && MATRIX_UNIT_COLUMNS == COLUMNS);

/// An instruction that multiplies pairs of `bf16`.
pub(super) trait PairKernel: Copy + Sync {
    /// The rows that are multiplied at a time.
    const ROWS: usize;
    /// The inner dimension has a multiple of so many pairs.
    const STEPS: usize;
    /// About how many pairs are multiplied in a nanosecond.
    const PER_NS: usize;

    /// Memory on the way.
    type Scratch: Default;

    /// Adds the product of up to [`ROWS`](Self::ROWS) rows, of pairs in the bits of an `f32`, and of panels of as many steps
    /// as rows are long, to some columns of `out`.
    fn add(
        self,
        rows: Lines<'_, f32>,
        panels: &[[Pair; COLUMNS]],
        scratch: &mut Self::Scratch,
        out: &mut [&mut [f32]],
        columns: Range<usize>,
    );
}

impl PairKernel for Bf16Dot {
    const ROWS: usize = BF16_TILE_ROWS;
    const STEPS: usize = 1;
    const PER_NS: usize = 64;

    type Scratch = ();

    fn add(
        self,
        rows: Lines<'_, f32>,
        panels: &[[Pair; COLUMNS]],
        (): &mut (),
        out: &mut [&mut [f32]],
        columns: Range<usize>,
    ) {
        // What is missing is computed from the last row and not written.
        let line = |i: usize| bytemuck::cast_slice(rows.line(i.min(out.len() - 1)));
        let lines = std::array::from_fn(line);
        for (i, panel) in panels.chunks_exact(rows.len).enumerate() {
            add_block(&self.tile(&lines, panel), i, out, &columns);
        }
    }
}

impl PairKernel for MatrixUnit {
    const ROWS: usize = MATRIX_UNIT_ROWS;
    const STEPS: usize = MATRIX_UNIT_STEPS;
    const PER_NS: usize = 256;

    /// For rows, and for sums.
    type Scratch = [Workspace<f32>; 2];

    fn add(
        self,
        rows: Lines<'_, f32>,
        panels: &[[Pair; COLUMNS]],
        [copy, sums]: &mut Self::Scratch,
        out: &mut [&mut [f32]],
        columns: Range<usize>,
    ) {
        let rows = match rows.count == Self::ROWS {
            true => rows,
            false => {
                // Sums of the missing rows are not written.
                let copy = copy.of(Self::ROWS * rows.len);
                for (i, copy) in copy.chunks_exact_mut(rows.len).enumerate() {
                    copy.copy_from_slice(rows.line(i.min(rows.count - 1)));
                }
                Lines::new(copy, rows.len)
            }
        };
        let rows_of_pairs = PairRows {
            data: bytemuck::cast_slice(rows.data()),
            step: rows.step,
        };
        let blocks = panels.len() / rows.len;
        let sums = sums.of(blocks * Self::ROWS * COLUMNS);
        let (sums, _) = sums.as_chunks_mut::<COLUMNS>();
        let (sums, _) = sums.as_chunks_mut::<MATRIX_UNIT_ROWS>();
        self.multiply(rows_of_pairs, panels, sums);
        for (i, sums) in sums.iter().enumerate() {
            add_block(sums, i, out, &columns);
        }
    }
}

/// Adds the sums of a panel of columns to as many rows as there are, and to those of the columns that exist.
fn add_block<const ROWS: usize>(
    sums: &[[f32; COLUMNS]; ROWS],
    panel: usize,
    out: &mut [&mut [f32]],
    columns: &Range<usize>,
) {
    let first = columns.start + panel * COLUMNS;
    for (out, sums) in out.iter_mut().zip(sums) {
        let end = columns.end.min(first + COLUMNS);
        for (out, sum) in zip_mut(&mut out[first..end], sums) {
            *out += sum;
        }
    }
}
