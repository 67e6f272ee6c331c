//! The gradients of rows with statistics of their own and one weight for each element.

// Loops go by index, because rows may be short: see `zip`.
#![allow(clippy::needless_range_loop)]

use super::super::super::float::Float;
use super::super::super::lanes::{BLOCK, LANES, add_lanes, lanes_of2, number, split, update};
use super::super::super::memory::scratch;
use super::super::super::simd::{Loop, run_at_best_level};
use super::super::super::threads::{Items, parallel_for};
use super::super::super::{NormGeometry, check_allocatable};
use super::super::columns::ROWS;
use super::super::moments::SIDE_BY_SIDE;
use super::Work;
use crate::Result;
use crate::zip::zip_mut;

impl<T: Float> Work<'_, T> {
    /// Blocks of rows are summed each on its own, so that the number of threads does not change the order.
    pub(super) fn over_rows(&mut self) -> Result<()> {
        let &NormGeometry {
            groups, channels, ..
        } = self.geometry;
        let (width, block) = (groups * channels, ROWS * groups);
        let blocks = (self.x.len() / channels).div_ceil(block);
        check_allocatable::<T>(blocks.saturating_mul(2 * width))?;
        let mut partial = scratch::<T>(blocks * 2 * width)?;
        partial.fill(T::zero());
        let mut out = std::mem::take(&mut self.out);
        let items = (
            Items(&mut out, block * channels),
            Items(&mut partial, 2 * width),
        );
        let work = &*self;
        parallel_for(blocks, block * channels, items, &|range, (out, partial)| {
            let out = out.0.chunks_mut(block * channels);
            let partial = partial.0.chunks_exact_mut(2 * width);
            for ((i, out), partial) in range.zip(out).zip(partial) {
                run_at_best_level(GradientOfRows {
                    work,
                    first: i * block,
                    partial,
                    out,
                });
            }
            Ok(())
        })?;
        self.out = out;
        for partial in partial.chunks_exact(2 * width) {
            for (totals, partial) in self.sums.iter_mut().zip(partial.chunks_exact(width)) {
                for (total, partial) in totals.iter_mut().zip(partial) {
                    *total += partial.to_f64();
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn rows<const N: usize>(&self, first: usize) -> [Row<'_, T>; N] {
        let mut rows = [self.row(first); N];
        for n in 1..N {
            rows[n] = self.row(first + n);
        }
        rows
    }

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn row(&self, i: usize) -> Row<'_, T> {
        let channels = self.geometry.channels;
        Row {
            grad: &self.grad[i * channels..][..channels],
            x: &self.x[i * channels..][..channels],
            mean: split(self.statistics.mean[i]),
            scale: number(self.scales[i]),
        }
    }
}

/// The gradients of a block of rows, added to the gradients of weight and bias.
struct GradientOfRows<'a, T: Float> {
    work: &'a Work<'a, T>,
    /// The index of the first row.
    first: usize,
    partial: &'a mut [T],
    out: &'a mut [T],
}

impl<T: Float> Loop for GradientOfRows<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self { work, partial, .. } = self;
        let &NormGeometry {
            groups, channels, ..
        } = work.geometry;
        let (weight_grad, bias_grad) = partial.split_at_mut(groups * channels);
        // Rows side by side have the same weights, and stay near.
        let together = match groups == 1 && channels <= BLOCK {
            true => SIDE_BY_SIDE,
            false => 1,
        };
        let mut i = self.first;
        for out in self.out.chunks_mut(together * channels) {
            // Most have one group, and a division takes as long as a short row.
            let group = if groups == 1 { 0 } else { i % groups };
            let group = group * channels..(group + 1) * channels;
            let mut shared = Shared {
                weight: &work.weight[group.clone()],
                weight_grad: &mut weight_grad[group.clone()],
                bias_grad: &mut bias_grad[group],
                centered: work.geometry.centered,
            };
            if out.len() == SIDE_BY_SIDE * channels {
                shared.gradients(work.rows::<SIDE_BY_SIDE>(i), out);
                i += SIDE_BY_SIDE;
                continue;
            }
            for out in out.chunks_exact_mut(channels) {
                shared.gradients([work.row(i)], out);
                i += 1;
            }
        }
    }
}

/// A row, and what normalizes it.
#[derive(Clone, Copy)]
struct Row<'a, T> {
    grad: &'a [T],
    x: &'a [T],
    mean: (T, T),
    scale: T,
}

impl<T: Float> Row<'_, T> {
    /// `x̂`
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn normal(&self, x: T) -> T {
        let (high, low) = self.mean;
        x.minus(high).minus(low).times(self.scale)
    }
}

/// What rows of a group share.
struct Shared<'a, T> {
    weight: &'a [T],
    weight_grad: &'a mut [T],
    bias_grad: &'a mut [T],
    centered: bool,
}

impl<T: Float> Shared<'_, T> {
    /// The gradients of a few rows, which are added to those of weight and bias.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn gradients<const N: usize>(&mut self, rows: [Row<'_, T>; N], out: &mut [T]) {
        let channels = self.weight.len();
        for n in 0..N {
            self.add(&rows[n], &mut out[n * channels..][..channels]);
        }
        // `Σ g x̂` and `Σ g` of each row.
        let mut totals = [[T::zero(); 2]; N];
        for start in (0..channels).step_by(BLOCK) {
            let end = channels.min(start + BLOCK);
            let mut sums = [[T::zero(); 2]; N];
            let mut lanes = [[[T::zero(); LANES]; 2]; N];
            for n in 0..N {
                let row = &rows[n];
                let (weighted, x) = (&out[n * channels..][start..end], &row.x[start..end]);
                (sums[n][0], lanes[n][0]) = lanes_of2(weighted, x, |g, x| g.times(row.normal(x)));
                (sums[n][1], lanes[n][1]) = lanes_of2(weighted, x, |g, _| g);
            }
            add_lanes(&mut sums, &lanes);
            for (totals, sums) in zip_mut(&mut totals, &sums) {
                update(totals, sums, T::plus);
            }
        }
        let count = channels as f64;
        for n in 0..N {
            let row = &rows[n];
            let [along, center] = totals[n].map(|sum| number::<T>(sum.to_f64() / count));
            let center = if self.centered { center } else { T::zero() };
            let (out, x) = (&mut out[n * channels..][..channels], &row.x[..channels]);
            for i in 0..channels {
                let pulled = row.normal(x[i]).times(along);
                out[i] = out[i].minus(center).minus(pulled).times(row.scale);
            }
        }
    }

    /// Adds a row to the gradients of weight and bias, and leaves the gradient times the weight in `weighted`.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn add(&mut self, row: &Row<'_, T>, weighted: &mut [T]) {
        let channels = self.weight.len();
        let (grad, x) = (&row.grad[..channels], &row.x[..channels]);
        let weight_grad = &mut self.weight_grad[..channels];
        let bias_grad = &mut self.bias_grad[..channels];
        let weighted = &mut weighted[..channels];
        for i in 0..channels {
            weighted[i] = grad[i].times(self.weight[i]);
            weight_grad[i] = weight_grad[i].plus(grad[i].times(row.normal(x[i])));
            bias_grad[i] = bias_grad[i].plus(grad[i]);
        }
    }
}
