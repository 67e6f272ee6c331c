//! Sums over neighbors along one dimension after another: average pooling, interpolation and their
//! gradients.

use std::cmp::Ordering;

use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::memory::vec_with_capacity;
use super::resample_axis::{AxisWeights, ResampleAxis, directed};
use super::view::to_cow;
use super::{
    CpuStorage, LinearOp, Operand, PoolDivisor, PoolGeometry, ResampleGeometry, Storage,
    check_allocatable,
};
use super::{pool_windows, resample_axes};
use crate::zip::zip_mut;
use crate::{Result, Scalar};

/// The means of windows.
pub(super) fn avg_pool(
    op: LinearOp,
    x: &Operand,
    geometry: &PoolGeometry,
    divisor: PoolDivisor,
) -> Result<Storage> {
    let bands = directed(op, pool_windows::averages(geometry, divisor)?);
    run_float(x.storage.dtype(), Resample { x, bands: &bands })
}

/// Images at another size.
pub(super) fn resample(op: LinearOp, x: &Operand, geometry: &ResampleGeometry) -> Result<Storage> {
    let dtype = x.storage.dtype();
    let bands = directed(op, resample_axes::bands(geometry, dtype)?);
    run_float(dtype, Resample { x, bands: &bands })
}

/// The last dimensions of `x` through one band each.
struct Resample<'a> {
    x: &'a Operand,
    bands: &'a [ResampleAxis],
}

impl FloatKernel for Resample<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "resample"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self { x, bands } = self;
        let mut shape = x.layout.shape().to_vec();
        let lead = shape.len().saturating_sub(bands.len());
        let mut values = to_cow::<T>(x)?;
        for d in order(bands) {
            let band = &bands[d];
            let inner = shape[lead + d + 1..].iter().product();
            shape[lead + d] = band.ranges.len();
            values = pass(&values, band, inner, shape.iter().product())?.into();
        }
        Ok(CpuStorage::wrap(values.into_owned()))
    }
}

/// First what shrinks, from the outermost, then what grows, from the innermost: so the passes over
/// single elements, which are those of the last dimension, meet few of them.
fn order(bands: &[ResampleAxis]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..bands.len()).collect();
    let grows = |d: usize| bands[d].ranges.len() > bands[d].size;
    order.sort_by(|&a, &b| match (grows(a), grows(b)) {
        (false, false) => a.cmp(&b),
        (true, true) => b.cmp(&a),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
    });
    order
}

/// `[outer, size, inner]` to `[outer, ranges, inner]`, which are `numel` elements.
fn pass<T: Float>(x: &[T], band: &ResampleAxis, inner: usize, numel: usize) -> Result<Vec<T>> {
    check_allocatable::<T>(numel)?;
    let mut out = vec_with_capacity(numel)?;
    if numel == 0 || x.is_empty() {
        out.resize(numel, T::zero());
        return Ok(out);
    }
    let cast = |&weight: &f64| T::from_scalar(Scalar::Float(weight));
    let weights: Vec<T> = match &band.weights {
        AxisWeights::OverOutput(divisors) | AxisWeights::OverInput(divisors) => {
            divisors.iter().map(cast).collect()
        }
        AxisWeights::Pairs(factors) => factors.iter().map(cast).collect(),
    };
    for block in x.chunks_exact(band.size * inner) {
        let mut pairs = 0;
        for (place, range) in band.ranges.iter().enumerate() {
            let lines = &block[range.start * inner..range.end * inner];
            match band.weights {
                AxisWeights::OverOutput(_) => {
                    let divisor = weights[place];
                    sum(lines, inner, std::iter::repeat(()), |v, ()| v, &mut out);
                    let start = out.len() - inner;
                    out[start..].iter_mut().for_each(|v| *v = *v / divisor);
                }
                AxisWeights::OverInput(_) => {
                    let divisors = &weights[range.clone()];
                    sum(lines, inner, divisors, |v, divisor| v / *divisor, &mut out);
                }
                AxisWeights::Pairs(_) => {
                    let factors = &weights[pairs..pairs + range.len()];
                    pairs += range.len();
                    sum(lines, inner, factors, |v, factor| v * *factor, &mut out);
                }
            }
        }
    }
    Ok(out)
}

/// Appends the sum of `f` of the lines, element by element; zeros without a line.
#[inline(always)]
fn sum<T: Float, W: Copy>(
    lines: &[T],
    inner: usize,
    weights: impl IntoIterator<Item = W>,
    f: impl Fn(T, W) -> T,
    out: &mut Vec<T>,
) {
    let mut weights = weights.into_iter();
    if inner == 1 {
        let mut terms = lines.iter().zip(weights).map(|(&v, weight)| f(v, weight));
        let first = terms.next().unwrap_or_else(T::zero);
        out.push(terms.fold(first, T::plus));
        return;
    }
    let (start, mut lines) = (out.len(), lines.chunks_exact(inner));
    match lines.next().zip(weights.next()) {
        Some((line, weight)) => out.extend(line.iter().map(|&v| f(v, weight))),
        None => out.resize(start + inner, T::zero()),
    }
    for (line, weight) in lines.zip(weights) {
        for (sum, &v) in zip_mut(&mut out[start..], line) {
            *sum = sum.plus(f(v, weight));
        }
    }
}
