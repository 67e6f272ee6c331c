//! Statistics and gradients of channels, of which each element of the batch has a plane: `[batch, groups, inner]`.

use super::super::float::Float;
use super::super::lanes::{BLOCK, split, sum, sum_of2};
use super::super::simd::{Loop, run_at_best_level};
use super::super::threads::{Items, parallel_for};
use super::moments::Moments;
use super::{NormGeometry, NormOver};
use crate::Result;

/// Planes of at most so many elements are copied together: a sum of few elements takes as long as that of many.
const SMALL: usize = BLOCK / 2;

/// The planes of a batch, those of each channel with statistics of their own.
#[derive(Clone, Copy)]
pub(super) struct BatchPlanes {
    batch: usize,
    groups: usize,
    inner: usize,
}

/// The sums over a channel.
#[derive(Clone, Copy, Default)]
pub(super) struct GradientSums {
    /// `Σ grad`
    pub(super) total: f64,
    /// `Σ grad (x - mean)`
    pub(super) along: f64,
}

/// `dx = grad · slope - (x - mean) · pull - rest`, the same for all that share a weight and
/// statistics.
pub(super) struct Line<T> {
    pub(super) mean: T,
    pub(super) slope: T,
    pub(super) pull: T,
    pub(super) rest: T,
}

impl<T: Float> Line<T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(super) fn at(&self, grad: T, x: T) -> T {
        let pulled = x.minus(self.mean).times(self.pull);
        grad.times(self.slope).minus(pulled).minus(self.rest)
    }
}

impl NormGeometry {
    /// What shares statistics in each element of the batch.
    pub(super) fn batch_rows(&self) -> BatchPlanes {
        BatchPlanes {
            batch: self.batch,
            groups: self.groups,
            inner: self.row(),
        }
    }

    /// The planes of the batch, if each channel has statistics of its own, the same in each element of the batch.
    pub(super) fn batch_planes(&self) -> Option<BatchPlanes> {
        (self.over != NormOver::Row && self.channels == 1).then(|| self.batch_rows())
    }
}

impl BatchPlanes {
    /// Where the plane of a channel starts.
    fn start(self, sample: usize, group: usize) -> usize {
        (sample * self.groups + group) * self.inner
    }

    /// Calls `f` with the elements of a channel in the order of the batch: planes, or blocks of small ones.
    fn for_blocks<T: Float, const N: usize>(
        self,
        group: usize,
        arrays: [&[T]; N],
        buffers: &mut [Vec<T>; N],
        mut f: impl FnMut([&[T]; N]),
    ) {
        let plane = |sample: usize| self.start(sample, group);
        if self.inner > SMALL {
            (0..self.batch).for_each(|sample| f(arrays.map(|x| &x[plane(sample)..][..self.inner])));
            return;
        }
        let planes = BLOCK / self.inner;
        for first in (0..self.batch).step_by(planes) {
            for (buffer, x) in buffers.iter_mut().zip(arrays) {
                buffer.clear();
                for sample in first..self.batch.min(first + planes) {
                    buffer.extend_from_slice(&x[plane(sample)..][..self.inner]);
                }
            }
            f(buffers.each_ref().map(Vec::as_slice));
        }
    }

    /// The mean and the biased variance of each channel.
    pub(super) fn moments<T: Float>(self, x: &[T], centered: bool) -> Result<[Vec<f64>; 2]> {
        let (mut mean, mut var) = (vec![0.0; self.groups], vec![0.0; self.groups]);
        let items = (Items(&mut mean, 1), Items(&mut var, 1));
        let work = self.batch * self.inner;
        parallel_for(self.groups, work, items, &|range, (mean, var)| {
            let mut buffers = [Vec::new()];
            for (at, group) in range.enumerate() {
                let mut moments = Moments::default();
                if (SMALL + 1..=BLOCK).contains(&self.inner) {
                    let plane = |sample| &x[self.start(sample, group)..][..self.inner];
                    moments.add_blocks((0..self.batch).map(plane), centered);
                } else {
                    self.for_blocks(group, [x], &mut buffers, |[x]| moments.add(x, centered));
                }
                (mean.0[at], var.0[at]) = (moments.mean, moments.var());
            }
            Ok(())
        })?;
        Ok([mean, var])
    }

    /// The sums that the gradients of each channel need.
    pub(super) fn gradient_sums<T: Float>(
        self,
        grad: &[T],
        x: &[T],
        mean: &[f64],
    ) -> Result<Vec<GradientSums>> {
        let mut sums = vec![GradientSums::default(); self.groups];
        let work = self.batch * self.inner;
        parallel_for(self.groups, work, Items(&mut sums, 1), &|range, sums| {
            let mut buffers = [Vec::new(), Vec::new()];
            for (group, sums) in range.zip(sums.0) {
                let (high, low) = split::<T>(mean[group]);
                self.for_blocks(group, [grad, x], &mut buffers, |[grad, x]| {
                    let distance = |x: T| x.minus(high).minus(low);
                    sums.total += sum(grad).to_f64();
                    sums.along += sum_of2(grad, x, |grad, x| grad.times(distance(x))).to_f64();
                });
            }
            Ok(())
        })?;
        Ok(sums)
    }

    /// The gradient of each element, by the line of its channel.
    pub(super) fn gradient<T: Float>(
        self,
        out: &mut [T],
        grad: &[T],
        x: &[T],
        lines: &[Line<T>],
    ) -> Result<()> {
        let inner = self.inner;
        let planes = self.batch * self.groups;
        parallel_for(planes, inner, Items(out, inner), &|planes, out| {
            let at = planes.start * inner..planes.end * inner;
            run_at_best_level(Gradients {
                out: out.0,
                grad: &grad[at.clone()],
                x: &x[at],
                inner,
                first: planes.start,
                lines,
            });
            Ok(())
        })
    }
}

/// The gradients of planes of `inner` elements, each of the channel after that of the one before.
struct Gradients<'a, T> {
    out: &'a mut [T],
    grad: &'a [T],
    x: &'a [T],
    inner: usize,
    /// The index of the first plane.
    first: usize,
    lines: &'a [Line<T>],
}

impl<T: Float> Loop for Gradients<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always, clippy::needless_range_loop)]
    fn run(self) {
        let inputs = self
            .grad
            .chunks_exact(self.inner)
            .zip(self.x.chunks_exact(self.inner));
        let outs = self.out.chunks_exact_mut(self.inner);
        let lines = self
            .lines
            .iter()
            .cycle()
            .skip(self.first % self.lines.len());
        for ((out, (grad, x)), line) in outs.zip(inputs).zip(lines) {
            let length = out.len().min(grad.len()).min(x.len());
            // By index, so that short planes have vectors, too.
            for i in 0..length {
                out[i] = line.at(grad[i], x[i]);
            }
        }
    }
}
