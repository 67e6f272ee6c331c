//! Normalization by the mean and the variance of each row or channel.
//!
//! Three loops serve all of them: over rows with one scale for each element, over planes with one
//! scale for each plane, and over rows with statistics down the columns. Statistics are kept in
//! `f64`; whatever is done to each element happens in the type of the elements.

mod columns;
mod gradient;
mod moments;
mod planes;
mod rows;

use super::float::Float;
use super::lanes::{number, split};
use super::map::{FloatKernel, run_float};
use super::memory::scratch;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::view::{RowMajor, to_plain_vec, to_row_major};
use super::{
    CpuStorage, NormGeometry, NormInputs, NormOver, Normalized, Operand, Saved, Storage,
    check_allocatable,
};
use crate::Result;
use crate::zip::{zip, zip_mut};

pub(super) use gradient::normalize_backward;

use columns::Rows;
use moments::scale;
use rows::NormalizeRows;

const NAME: &str = "normalization";

pub(super) fn normalize(inputs: &NormInputs, geometry: &NormGeometry) -> Result<Normalized> {
    run_float(inputs.x.storage.dtype(), Normalize(inputs, geometry))
}

struct Normalize<'a>(&'a NormInputs, &'a NormGeometry);

impl FloatKernel for Normalize<'_> {
    type Output = Normalized;

    fn name(&self) -> &'static str {
        NAME
    }

    fn run<T: Float>(self) -> Result<Normalized> {
        let Self(inputs, geometry) = self;
        let x = to_row_major::<T>(&inputs.x)?;
        let weight = parameter::<T>(inputs.weight.as_ref(), geometry, T::one())?;
        let bias = parameter::<T>(inputs.bias.as_ref(), geometry, T::zero())?;
        let mut statistics = match &inputs.statistics {
            Some([mean, var]) => Statistics {
                mean: to_plain_vec(mean)?,
                var: to_plain_vec(var)?,
            },
            None => Statistics::allocate(geometry)?,
        };
        check_allocatable::<T>(x.len())?;
        let mut out = scratch(x.len())?;
        let affine = Affine {
            weight: &weight,
            bias: &bias,
            geometry,
        };
        if x.is_empty() {
            statistics.mean.resize(geometry.statistics_count(), 0.0);
            statistics.var.resize(geometry.statistics_count(), 0.0);
        } else if geometry.over == NormOver::Row {
            // Each row is normalized while it is near.
            let row = geometry.row();
            let count = x.len() / row;
            statistics.mean.resize(count, 0.0);
            statistics.var.resize(count, 0.0);
            let moments = (
                Items(&mut statistics.mean, 1),
                Items(&mut statistics.var, 1),
            );
            let items = (Items(&mut out, row), moments);
            parallel_for(count, row, items, &|rows, (out, (mean, var))| {
                run_at_best_level(NormalizeRows {
                    geometry,
                    weight: &weight,
                    bias: &bias,
                    x: &x[rows.start * row..rows.end * row],
                    first: rows.start,
                    out: out.0,
                    mean: mean.0,
                    var: var.0,
                });
                Ok(())
            })?;
        } else {
            let width = geometry.groups;
            let rows = Rows {
                elements: &x,
                width,
            };
            if inputs.statistics.is_none() {
                let [mean, var] = match geometry.in_columns() {
                    true => columns::moments(rows)?,
                    false => geometry.batch_rows().moments(&x, geometry.centered)?,
                };
                statistics = Statistics { mean, var };
            }
            if geometry.in_columns() {
                affine.columns(&mut out, rows, &statistics)?;
            } else {
                affine.planes(&mut out, &x, &statistics)?;
            }
        }
        let results = geometry.with_statistics.then(|| statistics.rounded::<T>());
        let Statistics { mean, var } = statistics;
        Ok(Normalized {
            output: CpuStorage::wrap(out),
            statistics: results,
            saved: Saved::new([mean, var].map(CpuStorage::wrap)),
        })
    }
}

/// The scale or the shift of every channel; one that is absent is spelled out.
fn parameter<'a, T: Float>(
    x: Option<&'a Operand>,
    geometry: &NormGeometry,
    absent: T,
) -> Result<RowMajor<'a, T>> {
    match x {
        Some(x) => to_row_major(x),
        None => {
            let len = geometry.groups * geometry.channels;
            check_allocatable::<T>(len)?;
            Ok(RowMajor::Copied(vec![absent; len].into()))
        }
    }
}

/// The number that is subtracted and the divisor, one of each for every row or channel.
struct Statistics {
    mean: Vec<f64>,
    var: Vec<f64>,
}

impl Statistics {
    /// None yet.
    fn allocate(geometry: &NormGeometry) -> Result<Self> {
        let count = geometry.statistics_count();
        check_allocatable::<[f64; 4]>(count)?;
        let (mean, var) = (Vec::with_capacity(count), Vec::with_capacity(count));
        Ok(Self { mean, var })
    }

    /// The statistics in the type of the elements.
    fn rounded<T: Float>(&self) -> [Storage; 2] {
        [&self.mean, &self.var].map(|values| {
            let rounded = values.iter().map(|&value| number::<T>(value));
            CpuStorage::wrap(rounded.collect::<Vec<T>>())
        })
    }

    /// `1 / √(var + eps)` of each.
    fn scales(&self, eps: f64) -> Vec<f64> {
        self.var.iter().map(|&var| scale(var, eps)).collect()
    }
}

/// The weight and the bias that are applied to normalized elements.
struct Affine<'a, T> {
    weight: &'a [T],
    bias: &'a [T],
    geometry: &'a NormGeometry,
}

impl<T: Float> Affine<'_, T> {
    /// Planes of one channel each, whose statistics repeat from one element of the batch to the next.
    fn planes(&self, out: &mut [T], x: &[T], statistics: &Statistics) -> Result<()> {
        let inner = self.geometry.inner;
        let [means, scales, shifts] = &self.of_groups(statistics);
        let items = Items(out, inner);
        parallel_for(x.len() / inner, inner, items, &|planes, out| {
            run_at_best_level(Planes {
                out: out.0,
                x: &x[planes.start * inner..planes.end * inner],
                inner,
                first: planes.start,
                of_groups: [means, scales, shifts],
            });
            Ok(())
        })
    }

    /// Rows with statistics down the columns.
    fn columns(&self, out: &mut [T], x: Rows<'_, T>, statistics: &Statistics) -> Result<()> {
        let [means, scales, shifts] = self.of_groups(statistics);
        columns::normalize(out, x, [&means, &scales, &shifts])
    }

    /// The mean of each group of one channel, and the scale and the shift of what differs from it.
    fn of_groups(&self, statistics: &Statistics) -> [Vec<T>; 3] {
        let groups = statistics.mean.len();
        let [mut means, mut scales, mut shifts] = [(); 3].map(|()| Vec::with_capacity(groups));
        for (i, (&mean, &var)) in zip(&statistics.mean, &statistics.var).enumerate() {
            let (high, low) = split::<T>(mean);
            let scale = number::<T>(scale(var, self.geometry.eps)).times(self.weight[i]);
            means.push(high);
            scales.push(scale);
            // What is left of the mean is in the shift.
            shifts.push(self.bias[i].minus(low.times(scale)));
        }
        [means, scales, shifts]
    }
}

/// Planes of `inner` elements, each of the group after that of the one before.
struct Planes<'a, T> {
    out: &'a mut [T],
    x: &'a [T],
    inner: usize,
    /// The index of the first plane.
    first: usize,
    of_groups: [&'a [T]; 3],
}

impl<T: Float> Loop for Planes<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let [means, scales, shifts] = self.of_groups;
        let outs = self.out.chunks_exact_mut(self.inner);
        let mut group = self.first % means.len();
        for (out, x) in outs.zip(self.x.chunks_exact(self.inner)) {
            let (mean, scale, shift) = (means[group], scales[group], shifts[group]);
            for (out, &x) in zip_mut(out, x) {
                *out = x.minus(mean).times(scale).plus(shift);
            }
            group += 1;
            if group == means.len() {
                group = 0;
            }
        }
    }
}

impl NormGeometry {
    /// The number of consecutive elements with one pair of statistics.
    fn row(&self) -> usize {
        self.channels * self.inner
    }

    /// Whether neighbors in memory have different statistics.
    fn in_columns(&self) -> bool {
        self.over != NormOver::Row && self.row() == 1
    }

    /// The index of the statistics of row `i`.
    fn statistics_index(&self, i: usize) -> usize {
        match self.over {
            NormOver::Row => i,
            NormOver::Batch | NormOver::Given => i % self.groups,
        }
    }
}
