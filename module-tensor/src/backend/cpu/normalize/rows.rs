//! Rows, each normalized by its own mean and variance.

use super::super::NormGeometry;
use super::super::float::Float;
use super::super::lanes::{BLOCK, number, split};
use super::super::simd::Loop;
use super::moments::{Moments, OfBlock, scale};
use crate::zip::{zip, zip_mut, zip_mut3};

/// Rows, each of which is normalized while it is near.
pub(super) struct NormalizeRows<'a, T> {
    pub(super) geometry: &'a NormGeometry,
    pub(super) weight: &'a [T],
    pub(super) bias: &'a [T],
    pub(super) x: &'a [T],
    /// The index of the first row.
    pub(super) first: usize,
    pub(super) out: &'a mut [T],
    pub(super) mean: &'a mut [f64],
    pub(super) var: &'a mut [f64],
}

impl<T: Float> Loop for NormalizeRows<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let &NormGeometry {
            groups,
            channels,
            inner,
            eps,
            centered,
            ..
        } = self.geometry;
        let row = channels * inner;
        let statistics = self.mean.iter_mut().zip(self.var);
        let rows = self.x.chunks_exact(row).zip(self.out.chunks_exact_mut(row));
        for (i, ((x, out), (mean, var))) in (self.first..).zip(rows.zip(statistics)) {
            let moments = match row <= BLOCK {
                true => OfBlock { block: x, centered }.run(),
                false => Moments::of(x, centered),
            };
            (*mean, *var) = (moments.mean, moments.var());
            // Most have one group, and a division takes as long as a short row.
            let group = if groups == 1 { 0 } else { i % groups };
            let group = group * channels..(group + 1) * channels;
            let row = Row {
                out,
                x,
                inner,
                mean: split(*mean),
                scale: number(scale(*var, eps)),
                weight: &self.weight[group.clone()],
                bias: &self.bias[group],
            };
            row.run();
        }
    }
}

/// A row that is normalized, then scaled and shifted plane by plane of `inner` elements.
struct Row<'a, T> {
    out: &'a mut [T],
    x: &'a [T],
    inner: usize,
    mean: (T, T),
    scale: T,
    weight: &'a [T],
    bias: &'a [T],
}

impl<T: Float> Row<'_, T> {
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self { out, x, inner, .. } = self;
        let (high, low) = self.mean;
        if inner == 1 {
            for (out, &x, &weight, &bias) in zip_mut3(out, x, self.weight, self.bias) {
                let normal = x.minus(high).minus(low).times(self.scale);
                *out = normal.times(weight).plus(bias);
            }
            return;
        }
        let planes = out.chunks_exact_mut(inner).zip(x.chunks_exact(inner));
        for ((out, x), (&weight, &bias)) in planes.zip(zip(self.weight, self.bias)) {
            // What is left of the mean is in the shift.
            let scale = self.scale.times(weight);
            let shift = bias.minus(low.times(scale));
            for (out, &x) in zip_mut(out, x) {
                *out = x.minus(high).times(scale).plus(shift);
            }
        }
    }
}
