//! Products of matrices of `bf16` on processors that multiply pairs of them, by a matrix unit or by vectors.
//!
//! Two neighbors along the inner dimension are read as one number of 32 bits, so that the factors are laid out like
//! those of a product of `f32` of half the depth.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use half::bf16;
use half::slice::HalfFloatSliceExt;

use super::aligned_vec::Workspace;
use super::gemm::{Factor, Matrix, MatrixMut, SplitProduct, blocks};
use super::pair_kernel::{COLUMNS, PairKernel, WIDTH};
use super::simd::{Level, Loop, Pair, run_at_best_level};
use super::{Operand, elements};
use crate::Result;
use crate::zip::zip_mut;

/// The rows that are computed at a time: their sums stay in the second-level cache.
const HEIGHT: usize = 512;

/// The product of matrices, plus a row if there is one, written to `out`, whose rows are contiguous. The order in which
/// products are added depends neither on what is beside them nor on the number of threads.
pub(super) fn multiply<K: PairKernel>(
    kernel: K,
    row: Option<&[f32]>,
    a: &Operand,
    b: &Operand,
    out: &mut [bf16],
) -> Result<()> {
    let (shape, steps) = (a.layout.shape(), a.layout.strides());
    let [mut a_copy, mut b_copy] = [const { Workspace::new() }; 2];
    let (sizes, strides) = ([shape[0], shape[1]], [steps[0], steps[1]]);
    let rows = pairs(a, sizes, strides, K::STEPS, &mut a_copy)?;
    let (shape, steps) = (b.layout.shape(), b.layout.strides());
    let (sizes, strides) = ([shape[1], shape[0]], [steps[1], steps[0]]);
    let columns = pairs(b, sizes, strides, K::STEPS, &mut b_copy)?.t();
    let product = Product {
        kernel,
        row,
        rows,
        columns,
    };
    product.parallel_for(out);
    Ok(())
}

/// A factor whose elements are pairs of neighbors along the inner dimension, in its second position here, each in the
/// bits of an `f32`: where it lies, or else copied. The inner dimension has a multiple of `steps` pairs.
fn pairs<'a>(
    x: &'a Operand,
    [outer, inner]: [usize; 2],
    [outer_step, inner_step]: [usize; 2],
    steps: usize,
    copy: &'a mut Workspace<f32>,
) -> Result<Matrix<'a, f32>> {
    let data = elements::<bf16>(x)?.get(x.layout.offset()..);
    let data: &[u16] = data.unwrap_or_default().reinterpret_cast();
    let is_whole = inner.is_multiple_of(2 * steps) && (outer_step.is_multiple_of(2) || outer == 1);
    if inner_step == 1 && is_whole {
        let whole = &data[..data.len() / 2 * 2];
        if let Ok(whole) = bytemuck::try_cast_slice(whole) {
            return Ok(Matrix::with_steps(
                whole,
                [outer, inner / 2],
                [outer_step / 2, 1],
            ));
        }
    }
    let depth = inner.div_ceil(2).next_multiple_of(steps);
    let copy = copy.of(outer * depth);
    let to: &mut [Pair] = bytemuck::cast_slice_mut(copy);
    to[outer * inner.div_ceil(2)..].fill([0; 2]);
    for p in 0..inner.div_ceil(2) {
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

struct Product<'a, K> {
    kernel: K,
    row: Option<&'a [f32]>,
    rows: Matrix<'a, f32>,
    columns: Matrix<'a, f32>,
}

impl<K: PairKernel> Product<'_, K> {
    fn parallel_for(&self, out: &mut [bf16]) {
        let (m, depth, n) = (
            Factor::rows(&self.rows),
            Factor::columns(&self.rows),
            Factor::columns(&self.columns),
        );
        let split = SplitProduct {
            sizes: [m, n],
            tile: [K::ROWS, COLUMNS],
            transposed: false,
            depth,
            per_ns: K::PER_NS,
        };
        let out = MatrixMut::new(out, m).into_rows();
        split.run(out, |rows, columns, out| self.run(rows, columns, out));
    }

    /// Some rows and columns, written to those of `out`, which has no others.
    fn run(&self, all_rows: Range<usize>, all_columns: Range<usize>, out: &mut [&mut [bf16]]) {
        let level = Level::highest();
        let [mut copied_rows, mut copied_columns, mut copy, mut sums] =
            [const { Workspace::new() }; 4];
        for rows in blocks(all_rows.clone(), HEIGHT) {
            let sums = sums.of(rows.len().next_multiple_of(K::ROWS) * WIDTH);
            let (sums, _) = sums.as_chunks_mut::<WIDTH>();
            for columns in blocks(all_columns.clone(), WIDTH) {
                let start = self.row.map(|row| &row[columns.clone()]);
                for sums in &mut *sums {
                    match start {
                        Some(start) => sums[..start.len()].copy_from_slice(start),
                        None => *sums = [0.0; WIDTH],
                    }
                }
                for inner in blocks(0..Factor::columns(&self.rows), K::DEPTH) {
                    let part = [inner.clone(), columns.clone()];
                    let to = &mut copied_columns;
                    let panels: &[Pair] =
                        bytemuck::cast_slice(self.columns.panels(level, part, COLUMNS, to));
                    let tiles = blocks(rows.clone(), K::ROWS);
                    for (tile, sums) in tiles.zip(sums.chunks_exact_mut(K::ROWS)) {
                        let part = [tile, inner.clone()];
                        let lines = self.rows.lines(level, part, &mut copied_rows);
                        let panels = panels.as_chunks().0;
                        self.kernel.add(lines, panels, &mut copy, sums);
                    }
                }
                run_at_best_level(Round {
                    sums,
                    out: &mut out[rows.start - all_rows.start..][..rows.len()],
                    columns: columns.start - all_columns.start..columns.end - all_columns.start,
                });
            }
        }
    }
}

/// Rounds sums to some columns of rows.
struct Round<'a, 'b> {
    sums: &'a [[f32; WIDTH]],
    out: &'a mut [&'b mut [bf16]],
    columns: Range<usize>,
}

impl Loop for Round<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (out, sums) in self.out.iter_mut().zip(self.sums) {
            let out = &mut out[self.columns.clone()];
            zip_mut(out, sums).for_each(|(out, &sum)| *out = bf16::from_f32(sum));
        }
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::super::pair_kernel::PairKernel;
    use super::super::simd::{Bf16Dot, MatrixUnit};
    use super::multiply;
    use crate::{DType, Result, Tensor, set_num_threads};

    fn numbers(count: usize, seed: usize) -> Vec<bf16> {
        let number = |i: usize| ((i * 7919 + seed * 104_729) % 1013) as f32 / 512.0 - 1.0;
        (0..count).map(number).map(bf16::from_f32).collect()
    }

    /// The sum of the products of numbers of two slices, from a sum on.
    fn add_products<'a>(sum: f32, products: impl Iterator<Item = (&'a bf16, &'a bf16)>) -> f32 {
        products.fold(sum, |sum, (a, b)| a.to_f32().mul_add(b.to_f32(), sum))
    }

    /// The sum of products as the instruction for pairs defines it.
    fn add_by_pairs(start: f32, row: &[bf16], column: &[bf16]) -> f32 {
        let depth = 2 * Bf16Dot::DEPTH;
        let blocks = row.chunks(depth).zip(column.chunks(depth));
        blocks.fold(start, |total, (row, column)| {
            let pairs = row.chunks(2).zip(column.chunks(2));
            total + pairs.fold(0.0, |sum, (a, b)| add_products(sum, a.iter().zip(b).rev()))
        })
    }

    /// The sum of products as the matrix unit defines it.
    fn add_by_steps(start: f32, row: &[bf16], column: &[bf16]) -> f32 {
        let steps = row.chunks(32).zip(column.chunks(32));
        steps.fold(start, |sum, (a, b)| {
            let [first, second] = [0, 1].map(|start| {
                let products = a.iter().zip(b).skip(start).step_by(2);
                add_products(0.0, products)
            });
            sum + (first + second)
        })
    }

    fn check<K: PairKernel>(
        kernel: Option<K>,
        add: impl Fn(f32, &[bf16], &[bf16]) -> f32,
    ) -> Result<()> {
        let Some(kernel) = kernel else {
            println!("this processor does not multiply pairs of bf16");
            return Ok(());
        };
        for threads in [1, 3] {
            set_num_threads(threads);
            for (m, k, n) in [
                (2, 64, 64),
                (3, 65, 100),
                (12, 1024, 31),
                (13, 1025, 33),
                (33, 2, 70),
                (40, 128, 300),
                (700, 80, 64),
                (64, 1120, 320),
            ] {
                let (a, b, c) = (numbers(m * k, 1), numbers(n * k, 2), numbers(n, 3));
                let row: Vec<f32> = c.iter().map(|v| v.to_f32()).collect();
                let starts = [Some(row.as_slice()), None];
                let expected = starts.map(|start| {
                    let element = |at: usize| {
                        let (i, j) = (at / n, at % n);
                        let start = start.map_or(0.0, |row| row[j]);
                        bf16::from_f32(add(start, &a[i * k..][..k], &b[j * k..][..k]))
                    };
                    (0..m * n).map(element).collect::<Vec<_>>()
                });
                let left = Tensor::from_vec(a.clone(), [m, k])?;
                let columns = Tensor::from_vec(b.clone(), [n, k])?;
                // The same numbers in other positions, and such as do not begin at a multiple of 32 bits.
                let turned = left.t()?.contiguous()?.t()?;
                let wide = Tensor::cat(&[&Tensor::zeros([n, 1], DType::BF16)?, &columns], 1)?;
                let shifted = wide.narrow(1, 1..k + 1)?;
                for (name, left, right) in [
                    ("in rows", &left, columns.t()?),
                    ("turned", &turned, columns.t()?.contiguous()?),
                    ("shifted", &left, shifted.t()?),
                ] {
                    let factors = [left.operand(), right.operand()];
                    for (start, expected) in starts.iter().zip(&expected) {
                        let mut out = vec![bf16::NAN; m * n];
                        multiply(kernel, *start, &factors[0], &factors[1], &mut out)?;
                        assert_eq!(&out, expected, "{m} {k} {n} {name}, {threads} threads");
                    }
                }
            }
        }
        Ok(())
    }

    #[test]
    fn every_element_is_added_in_one_order() -> Result<()> {
        check(Bf16Dot::detect(), add_by_pairs)
    }

    #[test]
    fn every_element_of_the_matrix_unit_is_added_in_one_order() -> Result<()> {
        check(MatrixUnit::detect(), add_by_steps)
    }
}
