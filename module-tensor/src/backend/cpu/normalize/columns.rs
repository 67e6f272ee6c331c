//! Statistics down the columns of rows: each row is read once in a pass, from its start.

// As in `softmax.rs`.
#![allow(clippy::needless_range_loop)]

use super::super::float::Float;
use super::super::lanes::number;
use super::super::simd::{Loop, run_at_best_level};
use super::super::threads::{Items, parallel_for};
use crate::Result;
use crate::zip::{zip_mut, zip_mut2};

/// The number of rows that are summed in the type of the elements before their sums are added in `f64`.
pub(super) const ROWS: usize = 64;

/// The number of columns whose sums are in the nearest cache together.
const TILE: usize = 256;

/// Rows of `width` elements.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a, T> {
    pub(super) elements: &'a [T],
    pub(super) width: usize,
}

impl<'a, T> Rows<'a, T> {
    /// The number of rows.
    fn count(self) -> usize {
        self.elements.len() / self.width
    }

    /// The elements of a row in so many columns.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn part(self, row: usize, start: usize, count: usize) -> &'a [T] {
        &self.elements[row * self.width + start..][..count]
    }
}

/// The mean and the biased variance of each column.
pub(super) fn moments<T: Float>(rows: Rows<'_, T>) -> Result<[Vec<f64>; 2]> {
    let width = rows.width;
    let (mut mean, mut var) = (vec![0.0; width], vec![0.0; width]);
    let moments = (Items(&mut mean, 1), Items(&mut var, 1));
    parallel_for(width, rows.count(), moments, &|range, (mean, var)| {
        let tiles = mean.0.chunks_mut(TILE).zip(var.0.chunks_mut(TILE));
        for (i, (mean, var)) in tiles.enumerate() {
            let start = range.start + i * TILE;
            run_at_best_level(Moments {
                rows,
                start,
                mean,
                var,
            });
        }
        Ok(())
    })?;
    Ok([mean, var])
}

/// Rounding may make the variance of equal numbers negative; NaN stays.
pub(super) fn not_negative(var: f64) -> f64 {
    if var < 0.0 { 0.0 } else { var }
}

/// The moments of at most [`TILE`] columns.
struct Moments<'a, T> {
    rows: Rows<'a, T>,
    start: usize,
    mean: &'a mut [f64],
    var: &'a mut [f64],
}

impl<T: Float> Loop for Moments<'_, T> {
    type Output = ();

    // Sums first, then squares of the distances from the mean.

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let (columns, count) = (self.mean.len().min(TILE), self.rows.count());
        let rows = count as f64;
        let mut totals = [[0.0; TILE]; 2];
        let mut partial = [[T::zero(); TILE]; 2];
        let mut shift = [T::zero(); TILE];
        for first in (0..count).step_by(ROWS) {
            let sums = &mut partial[0][..columns];
            sums.fill(T::zero());
            for row in first..count.min(first + ROWS) {
                let x = self.rows.part(row, self.start, columns);
                for i in 0..columns {
                    sums[i] = sums[i].plus(x[i]);
                }
            }
            for (total, sum) in zip_mut(&mut totals[0][..columns], sums) {
                *total += sum.to_f64();
            }
        }
        for (shift, total) in zip_mut(&mut shift, &totals[0]) {
            *shift = number(total / rows);
        }
        totals[0].fill(0.0);
        for first in (0..count).step_by(ROWS) {
            let [sums, squares] = &mut partial;
            let (sums, squares) = (&mut sums[..columns], &mut squares[..columns]);
            let shift = &shift[..columns];
            sums.fill(T::zero());
            squares.fill(T::zero());
            for row in first..count.min(first + ROWS) {
                let x = self.rows.part(row, self.start, columns);
                for i in 0..columns {
                    let distance = x[i].minus(shift[i]);
                    sums[i] = sums[i].plus(distance);
                    squares[i] = squares[i].plus(distance.times(distance));
                }
            }
            let [offsets, spreads] = &mut totals;
            for (total, sum) in zip_mut(&mut offsets[..columns], sums) {
                *total += sum.to_f64();
            }
            for (total, sum) in zip_mut(&mut spreads[..columns], squares) {
                *total += sum.to_f64();
            }
        }
        let [offsets, spreads] = &totals;
        for (mean, shift, &offset) in zip_mut2(self.mean, &shift, offsets) {
            *mean = shift.to_f64() + offset / rows;
        }
        for (var, &offset, &squares) in zip_mut2(self.var, offsets, spreads) {
            *var = not_negative((squares - offset * offset / rows) / rows);
        }
    }
}

/// `(x - mean) · scale + shift` with the numbers of each column.
pub(super) fn normalize<T: Float>(out: &mut [T], x: Rows<'_, T>, columns: [&[T]; 3]) -> Result<()> {
    let width = x.width;
    parallel_for(x.count(), width, Items(out, width), &|rows, out| {
        run_at_best_level(Normalize {
            out: out.0,
            x: &x.elements[rows.start * width..rows.end * width],
            columns,
        });
        Ok(())
    })
}

struct Normalize<'a, T> {
    out: &'a mut [T],
    x: &'a [T],
    /// The means, scales and shifts.
    columns: [&'a [T]; 3],
}

impl<T: Float> Loop for Normalize<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let [means, scales, shifts] = self.columns;
        let width = means.len();
        let (scales, shifts) = (&scales[..width], &shifts[..width]);
        let rows = self.out.chunks_exact_mut(width);
        for (out, x) in rows.zip(self.x.chunks_exact(width)) {
            let (out, x) = (&mut out[..width], &x[..width]);
            for i in 0..width {
                out[i] = x[i].minus(means[i]).times(scales[i]).plus(shifts[i]);
            }
        }
    }
}

/// `Σ grad` and `Σ grad (x - mean)` of each column.
pub(super) fn gradient_sums<T: Float>(
    [grad, x]: [Rows<'_, T>; 2],
    mean: &[T],
) -> Result<[Vec<f64>; 2]> {
    let width = grad.width;
    let (mut total, mut along) = (vec![0.0; width], vec![0.0; width]);
    let sums = (Items(&mut total, 1), Items(&mut along, 1));
    parallel_for(width, 2 * x.count(), sums, &|range, (total, along)| {
        let tiles = total.0.chunks_mut(TILE).zip(along.0.chunks_mut(TILE));
        for (i, (total, along)) in tiles.enumerate() {
            let start = range.start + i * TILE;
            let mean = &mean[start..][..total.len()];
            run_at_best_level(GradientSums {
                rows: [grad, x],
                start,
                mean,
                total,
                along,
            });
        }
        Ok(())
    })?;
    Ok([total, along])
}

/// The sums of at most [`TILE`] columns.
struct GradientSums<'a, T> {
    rows: [Rows<'a, T>; 2],
    start: usize,
    mean: &'a [T],
    total: &'a mut [f64],
    along: &'a mut [f64],
}

impl<T: Float> Loop for GradientSums<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let columns = self.total.len().min(TILE);
        let [grads, xs] = self.rows;
        let count = xs.count();
        let mut partial = [[T::zero(); TILE]; 2];
        let mut mean = [T::zero(); TILE];
        mean[..columns].copy_from_slice(self.mean);
        for first in (0..count).step_by(ROWS) {
            let [sums, products] = &mut partial;
            let (sums, products) = (&mut sums[..columns], &mut products[..columns]);
            let mean = &mean[..columns];
            sums.fill(T::zero());
            products.fill(T::zero());
            for row in first..count.min(first + ROWS) {
                let grad = grads.part(row, self.start, columns);
                let x = xs.part(row, self.start, columns);
                for i in 0..columns {
                    sums[i] = sums[i].plus(grad[i]);
                    products[i] = products[i].plus(grad[i].times(x[i].minus(mean[i])));
                }
            }
            for (total, sum) in zip_mut(self.total, sums) {
                *total += sum.to_f64();
            }
            for (total, sum) in zip_mut(self.along, products) {
                *total += sum.to_f64();
            }
        }
    }
}

/// `grad · slope - (x - mean) · pull - rest` with the numbers of each column.
pub(super) fn gradient<T: Float>(
    out: &mut [T],
    [grad, x]: [Rows<'_, T>; 2],
    lines: [&[T]; 4],
) -> Result<()> {
    let width = grad.width;
    parallel_for(x.count(), width, Items(out, width), &|rows, out| {
        let part = rows.start * width..rows.end * width;
        run_at_best_level(Gradient {
            out: out.0,
            grad: &grad.elements[part.clone()],
            x: &x.elements[part],
            lines,
        });
        Ok(())
    })
}

struct Gradient<'a, T> {
    out: &'a mut [T],
    grad: &'a [T],
    x: &'a [T],
    /// The means, slopes, pulls and rests.
    lines: [&'a [T]; 4],
}

impl<T: Float> Loop for Gradient<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let [means, slopes, pulls, rests] = self.lines;
        let width = means.len();
        let (slopes, pulls, rests) = (&slopes[..width], &pulls[..width], &rests[..width]);
        let rows = self.out.chunks_exact_mut(width);
        let inputs = self.grad.chunks_exact(width);
        for (out, (grad, x)) in rows.zip(inputs.zip(self.x.chunks_exact(width))) {
            let (out, grad, x) = (&mut out[..width], &grad[..width], &x[..width]);
            for i in 0..width {
                let pulled = x[i].minus(means[i]).times(pulls[i]);
                out[i] = grad[i].times(slopes[i]).minus(pulled).minus(rests[i]);
            }
        }
    }
}
