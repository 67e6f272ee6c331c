//! Products of matrices of `bf16` on processors that multiply pairs of them.
//!
//! Two neighbors along the inner dimension are read as one number of 32 bits, so that the factors are laid out like
//! those of a product of `f32` of half the depth.

use std::ops::Range;

use half::bf16;
use half::slice::HalfFloatSliceExt;

use super::aligned_vec::Workspace;
use super::gemm::{Factor, Matrix, MatrixMut, SplitProduct, blocks};
use super::simd::{BF16_TILE_COLUMNS, BF16_TILE_ROWS, Bf16Dot, Level, Pair};
use super::{Operand, elements};
use crate::Result;
use crate::zip::zip_mut;

/// The pairs of the inner dimension that are multiplied at a time: a panel fits in the first-level cache.
const DEPTH: usize = 256;

/// The columns that are packed at a time: with [`DEPTH`] pairs they fit in the second-level cache.
const WIDTH: usize = 256;

/// Adds the product of matrices to `out`, whose rows are contiguous. Every element adds `Σ` over blocks of twice
/// [`DEPTH`] numbers, wherever it stands.
pub(super) fn add_product(dot: Bf16Dot, a: &Operand, b: &Operand, out: &mut [f32]) -> Result<()> {
    let (shape, steps) = (a.layout.shape(), a.layout.strides());
    let [mut a_copy, mut b_copy] = [const { Workspace::new() }; 2];
    let rows = pairs(a, [shape[0], shape[1]], [steps[0], steps[1]], &mut a_copy)?;
    let (shape, steps) = (b.layout.shape(), b.layout.strides());
    let columns = pairs(b, [shape[1], shape[0]], [steps[1], steps[0]], &mut b_copy)?.t();
    let product = Product { dot, rows, columns };
    product.parallel_for(out);
    Ok(())
}

/// A factor whose elements are pairs of neighbors along the inner dimension, in its second position here, each in the
/// bits of an `f32`: where it lies, or else copied.
fn pairs<'a>(
    x: &'a Operand,
    [outer, inner]: [usize; 2],
    [outer_step, inner_step]: [usize; 2],
    copy: &'a mut Workspace<f32>,
) -> Result<Matrix<'a, f32>> {
    let data = elements::<bf16>(x)?.get(x.layout.offset()..);
    let data: &[u16] = data.unwrap_or_default().reinterpret_cast();
    let is_even = inner.is_multiple_of(2) && (outer_step.is_multiple_of(2) || outer == 1);
    if inner_step == 1 && is_even {
        let whole = &data[..data.len() / 2 * 2];
        if let Ok(whole) = bytemuck::try_cast_slice(whole) {
            return Ok(Matrix::with_steps(
                whole,
                [outer, inner / 2],
                [outer_step / 2, 1],
            ));
        }
    }
    let depth = inner.div_ceil(2);
    let copy = copy.of(outer * depth);
    let to: &mut [Pair] = bytemuck::cast_slice_mut(copy);
    for p in 0..depth {
        let second = (2 * p + 1 < inner).then_some((2 * p + 1) * inner_step);
        let (first, to) = (2 * p * inner_step, &mut to[p * outer..][..outer]);
        match (outer_step, second) {
            (1, Some(second)) => {
                let [first, second] = [first, second].map(|start| &data[start..][..outer]);
                for ((to, &first), &second) in to.iter_mut().zip(first).zip(second) {
                    *to = [first, second];
                }
            }
            _ => {
                for (i, to) in to.iter_mut().enumerate() {
                    let at = |start: usize| data[start + i * outer_step];
                    *to = [at(first), second.map_or(0, at)];
                }
            }
        }
    }
    Ok(Matrix::with_steps(copy, [outer, depth], [1, outer]))
}

struct Product<'a> {
    dot: Bf16Dot,
    rows: Matrix<'a, f32>,
    columns: Matrix<'a, f32>,
}

impl Product<'_> {
    fn parallel_for(&self, out: &mut [f32]) {
        let (m, depth, n) = (
            Factor::rows(&self.rows),
            Factor::columns(&self.rows),
            Factor::columns(&self.columns),
        );
        let split = SplitProduct {
            sizes: [m, n],
            tile: [BF16_TILE_ROWS, BF16_TILE_COLUMNS],
            transposed: false,
            depth,
            per_ns: 64,
        };
        let out = MatrixMut::new(out, m).into_rows();
        split.run(out, |rows, columns, out| self.run(rows, columns, out));
    }

    /// Some rows and columns, added to those of `out`, which has no others.
    fn run(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [&mut [f32]]) {
        let level = Level::highest();
        let [mut copied_rows, mut copied_columns] = [const { Workspace::new() }; 2];
        for inner in blocks(0..Factor::columns(&self.rows), DEPTH) {
            for some in blocks(columns.clone(), WIDTH) {
                let first = some.start - columns.start;
                let part = [inner.clone(), some];
                let copy = &mut copied_columns;
                let panels = self.columns.panels(level, part, BF16_TILE_COLUMNS, copy);
                let panels: &[Pair] = bytemuck::cast_slice(panels);
                let panels = panels.as_chunks().0;
                for tile in blocks(rows.clone(), BF16_TILE_ROWS) {
                    let out = &mut out[tile.start - rows.start..][..tile.len()];
                    let part = [tile, inner.clone()];
                    let lines = self.rows.lines(level, part, &mut copied_rows);
                    // What is missing is computed from the last row and not written.
                    let line = |i: usize| bytemuck::cast_slice(lines.line(i.min(out.len() - 1)));
                    let lines = std::array::from_fn(line);
                    for (i, panel) in panels.chunks_exact(inner.len()).enumerate() {
                        let sums = self.dot.tile(&lines, panel);
                        let first = first + i * BF16_TILE_COLUMNS;
                        for (out, sums) in out.iter_mut().zip(&sums) {
                            let end = out.len().min(first + BF16_TILE_COLUMNS);
                            for (out, sum) in zip_mut(&mut out[first..end], sums) {
                                *out += sum;
                            }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::{Bf16Dot, DEPTH};
    use crate::{DType, Result, Tensor, set_num_threads};

    fn numbers(count: usize, seed: usize) -> Vec<bf16> {
        let number = |i: usize| ((i * 7919 + seed * 104_729) % 1013) as f32 / 512.0 - 1.0;
        (0..count).map(number).map(bf16::from_f32).collect()
    }

    /// An element of the product as its sums are defined.
    fn dot(row: &[bf16], column: &[bf16], start: f32) -> bf16 {
        let mut total = start;
        for (row, column) in row.chunks(2 * DEPTH).zip(column.chunks(2 * DEPTH)) {
            let mut sum = 0.0_f32;
            for (a, b) in row.chunks(2).zip(column.chunks(2)) {
                for (a, b) in a.iter().zip(b).rev() {
                    sum = a.to_f32().mul_add(b.to_f32(), sum);
                }
            }
            total += sum;
        }
        bf16::from_f32(total)
    }

    #[test]
    fn every_element_is_added_in_one_order() -> Result<()> {
        if Bf16Dot::detect().is_none() {
            println!("this processor does not multiply pairs of bf16");
            return Ok(());
        }
        for threads in [1, 3] {
            set_num_threads(threads);
            for (m, k, n) in [
                (2, 64, 64),
                (3, 65, 100),
                (12, 1024, 31),
                (13, 1025, 33),
                (40, 128, 300),
                (700, 80, 64),
            ] {
                let (a, b, c) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3));
                let expected = |start: &dyn Fn(usize) -> f32| -> Vec<bf16> {
                    let element = |i: usize| {
                        let (row, column) = (i / n, i % n);
                        dot(&a[row * k..][..k], &b[column * k..][..k], start(column))
                    };
                    (0..m * n).map(element).collect()
                };
                let left = Tensor::from_vec(a.clone(), [m, k])?;
                let columns = Tensor::from_vec(b.clone(), [n, k])?;
                let row = Tensor::from_vec(c.clone(), [n])?;
                let case = format!("{m} {k} {n} by {threads} threads");
                let product = left.matmul(&columns.t()?)?;
                assert_eq!(product.to_vec::<bf16>()?, expected(&|_| 0.0), "{case}");
                // The same numbers in other positions.
                let left = left.t()?.contiguous()?.t()?;
                let right = columns.t()?.contiguous()?;
                let product = left.matmul(&right)?;
                assert_eq!(
                    product.to_vec::<bf16>()?,
                    expected(&|_| 0.0),
                    "{case}, turned"
                );
                let sum = row.addmm(&left, &right, 1.0, 1.0)?;
                let with_row = expected(&|column| c[column].to_f32());
                assert_eq!(sum.to_vec::<bf16>()?, with_row, "{case}, with a row");
                // Columns that do not begin at a multiple of 32 bits.
                let wide = Tensor::cat(&[&Tensor::zeros([n, 1], DType::BF16)?, &columns], 1)?;
                let product = left.matmul(&wide.narrow(1, 1..k + 1)?.t()?)?;
                assert_eq!(
                    product.to_vec::<bf16>()?,
                    expected(&|_| 0.0),
                    "{case}, shifted"
                );
            }
        }
        Ok(())
    }
}
