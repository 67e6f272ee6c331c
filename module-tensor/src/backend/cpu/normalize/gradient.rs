//! The gradients of normalization.
//!
//! With `x̂ = (x - mean) / √(var + eps)` and `g` the gradient of the output times the weight,
//!
//! ```text
//! dx = (g - ⟨g⟩ - x̂ ⟨g x̂⟩) / √(var + eps)     dweight = Σ grad x̂     dbias = Σ grad
//! ```
//!
//! where `⟨⟩` is the mean over what shares statistics, and 0 if they were given.

mod rows;

use std::ops::Range;

use super::super::aligned_vec::AlignedVec;
use super::super::compute::saved_elements;
use super::super::float::Float;
use super::super::lanes::{map2, number, split, sum_of, sum_of2};
use super::super::map::{FloatKernel, run_float};
use super::super::memory::scratch;
use super::super::simd::{Loop, run_at_best_level};
use super::super::threads::{Items, parallel_for};
use super::super::view::to_row_major;
use super::super::{
    CpuStorage, NormGeometry, NormGradients, NormInputs, NormOver, Operand, Saved,
    check_allocatable,
};
use super::columns::{self, Rows};
use super::planes::{BatchPlanes, GradientSums, Line};
use super::{NAME, Statistics, parameter};
use crate::Result;
use crate::zip::zip;

/// The gradients of `x`, of the weight and of the bias.
pub(in super::super) fn normalize_backward(
    grad: &Operand,
    inputs: &NormInputs,
    saved: &Saved,
    geometry: &NormGeometry,
) -> Result<NormGradients> {
    let kernel = Gradient(grad, inputs, saved, geometry);
    run_float(grad.storage.dtype(), kernel)
}

struct Gradient<'a>(&'a Operand, &'a NormInputs, &'a Saved, &'a NormGeometry);

impl FloatKernel for Gradient<'_> {
    type Output = NormGradients;

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<NormGradients> {
        let Self(grad, inputs, saved, geometry) = self;
        let (grad, x) = (to_row_major::<T>(grad)?, to_row_major::<T>(&inputs.x)?);
        let weight = parameter::<T>(inputs.weight.as_ref(), geometry, T::one())?;
        let [mean, var] = saved.storages(NAME)?;
        let statistics = Statistics {
            mean: saved_elements(mean, geometry.statistics_count(), NAME)?.to_vec(),
            var: saved_elements(var, geometry.statistics_count(), NAME)?.to_vec(),
        };
        check_allocatable::<T>(x.len())?;
        check_allocatable::<[f64; 2]>(weight.len())?;
        let mut work = Work {
            scales: statistics.scales(geometry.eps),
            statistics,
            geometry,
            out: scratch(x.len())?,
            sums: [vec![0.0; weight.len()], vec![0.0; weight.len()]],
            grad: &grad,
            x: &x,
            weight: &weight,
        };
        if !x.is_empty() {
            if geometry.in_columns() {
                work.down_columns()?;
            } else if let Some(planes) = geometry.batch_planes() {
                work.over_batch(planes)?;
            } else if geometry.inner == 1 {
                work.over_rows()?;
            } else {
                work.over_planes()?;
            }
        }
        let rounded = |values: Vec<f64>| {
            CpuStorage::wrap(values.into_iter().map(number::<T>).collect::<Vec<T>>())
        };
        let [weight, bias] = work.sums;
        Ok(NormGradients {
            x: CpuStorage::wrap(work.out),
            weight: inputs.weight.as_ref().map(|_| rounded(weight)),
            bias: inputs.bias.as_ref().map(|_| rounded(bias)),
        })
    }
}

struct Work<'a, T: Float> {
    geometry: &'a NormGeometry,
    statistics: Statistics,
    scales: Vec<f64>,
    grad: &'a [T],
    x: &'a [T],
    weight: &'a [T],
    out: AlignedVec<T>,
    /// The gradients of the weight and of the bias.
    sums: [Vec<f64>; 2],
}

impl<T: Float> Work<'_, T> {
    /// The line for a weight and the statistics at `own`, from the sums `[Σ g, Σ g x̂]`.
    fn line(&self, own: usize, weight: T, sums: [f64; 2]) -> Line<T> {
        let scale = self.scales[own];
        let (mean, low) = split::<T>(self.statistics.mean[own]);
        let [pull, rest] = match self.geometry.over {
            NormOver::Given => [0.0, 0.0],
            _ => {
                let count = (self.x.len() / self.scales.len()) as f64;
                let pull = scale * scale * sums[1] / count;
                let center = if self.geometry.centered {
                    sums[0] / count
                } else {
                    0.0
                };
                [pull, center * scale - low.to_f64() * pull]
            }
        };
        Line {
            mean,
            slope: number::<T>(scale).times(weight),
            pull: number(pull),
            rest: number(rest),
        }
    }

    /// One weight for each plane.
    fn over_planes(&mut self) -> Result<()> {
        let &NormGeometry {
            groups,
            channels,
            inner,
            over,
            ..
        } = self.geometry;
        let (row, rows) = (self.geometry.row(), self.x.len() / self.geometry.row());
        let mut planes = vec![[0.0; 2]; rows * channels];
        let work = &*self;
        let items = Items(&mut planes, 1);
        parallel_for(rows * channels, inner, items, &|planes, out| {
            let sums = out.0;
            run_at_best_level(PlaneSums { work, planes, sums });
            Ok(())
        })?;
        // `[Σ g, Σ g x̂]` over what shares statistics.
        let mut shared = match over {
            NormOver::Row => vec![[0.0; 2]; rows],
            _ => vec![[0.0; 2]; groups],
        };
        for (i, planes) in planes.chunks_exact(channels).enumerate() {
            let mut sums = [0.0; 2];
            for (channel, [total, along]) in planes.iter().enumerate() {
                let index = i % groups * channels + channel;
                self.sums[0][index] += along;
                self.sums[1][index] += total;
                let weight = self.weight[index].to_f64();
                sums[0] += weight * total;
                sums[1] += weight * along;
            }
            let count = shared.len();
            let shared = &mut shared[i % count];
            *shared = [shared[0] + sums[0], shared[1] + sums[1]];
        }
        let mut out = std::mem::take(&mut self.out);
        let work = &*self;
        parallel_for(rows, row, Items(&mut out, row), &|rows, out| {
            run_at_best_level(PlaneGradients {
                work,
                rows,
                sums: &shared,
                out: out.0,
            });
            Ok(())
        })?;
        self.out = out;
        Ok(())
    }

    /// One weight and one pair of statistics for each channel of the batch.
    fn over_batch(&mut self, planes: BatchPlanes) -> Result<()> {
        let sums = planes.gradient_sums(self.grad, self.x, &self.statistics.mean)?;
        let mut lines = Vec::with_capacity(sums.len());
        for (group, &GradientSums { total, along }) in sums.iter().enumerate() {
            let along = along * self.scales[group];
            let weight = self.weight[group];
            let weighted = [total, along].map(|sum| weight.to_f64() * sum);
            lines.push(self.line(group, weight, weighted));
            (self.sums[0][group], self.sums[1][group]) = (along, total);
        }
        planes.gradient(&mut self.out, self.grad, self.x, &lines)
    }

    /// `[Σ grad, Σ grad x̂]` over a plane.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn plane_sums(&self, plane: usize) -> [f64; 2] {
        let &NormGeometry {
            channels, inner, ..
        } = self.geometry;
        let own = self.geometry.statistics_index(plane / channels);
        let (high, low) = split::<T>(self.statistics.mean[own]);
        let at = plane * inner..(plane + 1) * inner;
        let (grad, x) = (&self.grad[at.clone()], &self.x[at]);
        let along = sum_of2(grad, x, |grad, x| grad.times(x.minus(high).minus(low)));
        let total = sum_of(grad, |grad| grad);
        [total.to_f64(), along.to_f64() * self.scales[own]]
    }

    /// The gradient of row `i`, from `[Σ g, Σ g x̂]` over what shares its statistics.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn plane_slopes(&self, i: usize, sums: [f64; 2], out: &mut [T]) {
        let &NormGeometry {
            groups,
            channels,
            inner,
            ..
        } = self.geometry;
        let own = self.geometry.statistics_index(i);
        for (channel, out) in out.chunks_exact_mut(inner).enumerate() {
            let weight = self.weight[i % groups * channels + channel];
            let line = self.line(own, weight, sums);
            let at = (i * channels + channel) * inner..(i * channels + channel + 1) * inner;
            let (grad, x) = (&self.grad[at.clone()], &self.x[at]);
            map2(out, grad, x, |grad, x| line.at(grad, x));
        }
    }

    /// One weight and one pair of statistics for each column.
    fn down_columns(&mut self) -> Result<()> {
        let width = self.geometry.groups;
        let mean: Vec<T> = self.statistics.mean.iter().map(|&v| number(v)).collect();
        let rows = [self.grad, self.x].map(|elements| Rows { elements, width });
        let [total, mut along] = columns::gradient_sums(rows, &mean)?;
        for (i, along) in along.iter_mut().enumerate() {
            // What the rounded mean left over.
            let low = split::<T>(self.statistics.mean[i]).1.to_f64();
            *along = (*along - low * total[i]) * self.scales[i];
        }
        let [mut slopes, mut pulls, mut rests] = [(); 3].map(|()| Vec::with_capacity(width));
        for (i, (&total, &along)) in zip(&total, &along).enumerate() {
            let weight = self.weight[i].to_f64();
            let line = self.line(i, self.weight[i], [weight * total, weight * along]);
            slopes.push(line.slope);
            pulls.push(line.pull);
            rests.push(line.rest);
        }
        columns::gradient(&mut self.out, rows, [&mean, &slopes, &pulls, &rests])?;
        self.sums = [along, total];
        Ok(())
    }
}

/// The sums of some planes.
struct PlaneSums<'a, 'b, T: Float> {
    work: &'a Work<'b, T>,
    planes: Range<usize>,
    sums: &'a mut [[f64; 2]],
}

impl<T: Float> Loop for PlaneSums<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for (plane, sums) in self.planes.zip(self.sums) {
            *sums = self.work.plane_sums(plane);
        }
    }
}

/// The gradients of some rows, from the sums over what shares their statistics.
struct PlaneGradients<'a, 'b, T: Float> {
    work: &'a Work<'b, T>,
    rows: Range<usize>,
    sums: &'a [[f64; 2]],
    out: &'a mut [T],
}

impl<T: Float> Loop for PlaneGradients<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let rows = self.out.chunks_exact_mut(self.work.geometry.row());
        for (i, out) in self.rows.zip(rows) {
            self.work
                .plane_slopes(i, self.sums[i % self.sums.len()], out);
        }
    }
}
