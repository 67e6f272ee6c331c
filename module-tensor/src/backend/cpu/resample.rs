//! Sums over neighbors along one dimension after another: average pooling, interpolation and their
//! gradients.

use std::cmp::Ordering;

use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::memory::vec_with_capacity;
use super::resample_axis::{AxisWeights, ResampleAxis, for_direction};
use super::view::to_cow;
use super::{
    CpuStorage, LinearOp, Operand, PoolDivisor, PoolGeometry, ResampleGeometry, Storage,
    check_allocatable,
};
use super::{pool_windows, resample_axes};
use crate::zip::zip_mut;
use crate::{Result, Scalar};

/// Average pooling.
pub(super) fn avg_pool(
    op: LinearOp,
    x: &Operand,
    geometry: &PoolGeometry,
    divisor: PoolDivisor,
) -> Result<Storage> {
    let axes = for_direction(op, pool_windows::averages(geometry, divisor)?);
    run_float(x.storage.dtype(), Resample { x, axes: &axes })
}

/// Resizes images.
pub(super) fn resample(op: LinearOp, x: &Operand, geometry: &ResampleGeometry) -> Result<Storage> {
    let dtype = x.storage.dtype();
    let axes = for_direction(op, resample_axes::axes(geometry, dtype)?);
    run_float(dtype, Resample { x, axes: &axes })
}

/// The last dimensions of `x`, resampled along one axis each.
struct Resample<'a> {
    x: &'a Operand,
    axes: &'a [ResampleAxis],
}

impl FloatKernel for Resample<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "resample"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self { x, axes } = self;
        let mut shape = x.layout.shape().to_vec();
        let lead = shape.len().saturating_sub(axes.len());
        let mut values = to_cow::<T>(x)?;
        for d in order(axes) {
            let axis = &axes[d];
            let inner = shape[lead + d + 1..].iter().product();
            shape[lead + d] = axis.ranges.len();
            values = pass(&values, axis, inner, shape.iter().product())?.into();
        }
        Ok(CpuStorage::wrap(values.into_owned()))
    }
}

/// The order of the axes: first those that shrink, from the outermost, then those that grow, from the
/// innermost. The pass along the last dimension, which handles single elements, then has few of them.
fn order(axes: &[ResampleAxis]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..axes.len()).collect();
    let grows = |d: usize| axes[d].ranges.len() > axes[d].size;
    order.sort_by(|&a, &b| match (grows(a), grows(b)) {
        (false, false) => a.cmp(&b),
        (true, true) => b.cmp(&a),
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
    });
    order
}

/// `[outer, size, inner]` to `[outer, ranges, inner]`, which are `numel` elements.
fn pass<T: Float>(x: &[T], axis: &ResampleAxis, inner: usize, numel: usize) -> Result<Vec<T>> {
    check_allocatable::<T>(numel)?;
    let mut out = vec_with_capacity(numel)?;
    if numel == 0 || x.is_empty() {
        out.resize(numel, T::zero());
        return Ok(out);
    }
    let cast = |&weight: &f64| T::from_scalar(Scalar::Float(weight));
    let weights: Vec<T> = match &axis.weights {
        AxisWeights::OverOutput(divisors) | AxisWeights::OverInput(divisors) => {
            divisors.iter().map(cast).collect()
        }
        AxisWeights::Pairs(factors) => factors.iter().map(cast).collect(),
    };
    for block in x.chunks_exact(axis.size * inner) {
        let mut pairs = 0;
        for (output, range) in axis.ranges.iter().enumerate() {
            let lines = &block[range.start * inner..range.end * inner];
            match axis.weights {
                AxisWeights::OverOutput(_) => {
                    let divisor = weights[output];
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
