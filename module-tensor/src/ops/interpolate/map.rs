//! What each place of a resized dimension reads.

use std::ops::Range;

use super::super::adaptive_pool::covered;
use super::super::resample::ranges;
use crate::backend::{Band, BandWeights, host_room};
use crate::tensor::Tensor;
use crate::{DType, Result};

/// One dimension at another size.
pub(super) struct Map {
    pub(super) size: usize,
    pub(super) to: usize,
    /// How far places of the output lie apart in the input.
    pub(super) scale: f64,
    pub(super) align_corners: bool,
}

impl Map {
    /// The place under the start of each place of the output, or under its middle if `exact`.
    pub(super) fn nearest(&self, dtype: DType, exact: bool) -> Result<Band> {
        // As PyTorch computes it, to the bit: another rounding would choose another place.
        let place = |at: usize| match (dtype, exact) {
            (DType::F64, false) => (at as f64 * self.scale) as f32,
            (DType::F64, true) => ((at as f64 + 0.5).mul_add(self.scale, -0.5) + 0.5) as f32,
            (_, false) => at as f32 * self.scale as f32,
            (_, true) => (at as f32 + 0.5).mul_add(self.scale as f32, -0.5) + 0.5,
        };
        let ranges = ranges(self.to, |at| {
            let place = (place(at) as usize).min(self.size - 1);
            place..place + 1
        })?;
        Ok(self.mean(ranges))
    }

    /// The mean of the places that a place of the output covers, if only in part.
    pub(super) fn area(&self) -> Result<Band> {
        Ok(self.mean(covered(self.size, self.to)?))
    }

    pub(super) fn mean(&self, ranges: Vec<Range<usize>>) -> Band {
        let counts = ranges.iter().map(|range| range.len() as f64).collect();
        let weights = BandWeights::OverOutput(counts);
        let size = self.size;
        Band {
            size,
            ranges,
            weights,
        }
    }

    /// The mean of the places that a place of the output covers, weighted by a filter that ends
    /// `reach` places from its middle, which is widened where the image becomes smaller. Aligned
    /// corners change the scale only, as in PyTorch.
    pub(super) fn averages(&self, reach: f64, filter: impl Fn(f64) -> f64) -> Result<Band> {
        let width = self.scale.max(1.0);
        let support = reach * width;
        let middle = |at: usize| self.scale * (at as f64 + 0.5);
        let ranges = ranges(self.to, |at| {
            let start = (middle(at) - support + 0.5).max(0.0) as usize;
            let end = (middle(at) + support + 0.5) as usize;
            let start = start.min(self.size - 1);
            start..end.min(self.size).max(start + 1)
        })?;
        let count = ranges.iter().map(Range::len).fold(0, usize::saturating_add);
        host_room::<f64>(count)?;
        let mut pairs = Vec::with_capacity(count);
        for (at, range) in ranges.iter().enumerate() {
            let weight = |place: usize| filter((place as f64 - middle(at) + 0.5) / width);
            let total: f64 = range.clone().map(weight).sum();
            pairs.extend(range.clone().map(|place| weight(place) / total));
        }
        let weights = BandWeights::Pairs(pairs);
        let size = self.size;
        Ok(Band {
            size,
            ranges,
            weights,
        })
    }

    /// `K` neighbours, the first of them `before` the place to the left, with weights by how far
    /// after it the output's place lies; those beyond the border are the last place inside.
    pub(super) fn taps<const K: usize>(
        &self,
        before: usize,
        weights: impl Fn(f64) -> [f64; K],
    ) -> Result<Band> {
        host_room::<f64>(self.to.saturating_mul(K))?;
        let last = self.size - 1;
        // The place to the left, from which the first neighbour is `before` less, and the rest.
        let source = |at: usize| {
            let source = match self.align_corners {
                true => at as f64 * self.scale,
                false => (at as f64 + 0.5) * self.scale - 0.5,
            };
            // Only the cubic looks beyond the border.
            let source = if before == 0 { source.max(0.0) } else { source };
            let left = source.floor().min(last as f64);
            (left as isize, (source - left).clamp(0.0, 1.0))
        };
        let neighbour = |left: isize, tap: usize| {
            let place = left
                .saturating_add_unsigned(tap)
                .saturating_sub_unsigned(before);
            usize::try_from(place).unwrap_or(0).min(last)
        };
        let ranges = ranges(self.to, |at| {
            let (left, _) = source(at);
            neighbour(left, 0)..neighbour(left, K - 1) + 1
        })?;
        let mut pairs = Vec::new();
        for (at, range) in ranges.iter().enumerate() {
            let (left, rest) = source(at);
            let start = pairs.len();
            pairs.resize(start + range.len(), 0.0);
            for (tap, weight) in weights(rest).into_iter().enumerate() {
                pairs[start + neighbour(left, tap) - range.start] += weight;
            }
        }
        let weights = BandWeights::Pairs(pairs);
        let size = self.size;
        Ok(Band {
            size,
            ranges,
            weights,
        })
    }
}

/// The filter of linear interpolation.
pub(super) fn tent(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// The filter of cubic interpolation, by the distance.
pub(super) fn cubic_filter(x: f64, a: f64) -> f64 {
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

/// The weights of four neighbours, of which the place lies `t` after the second.
pub(super) fn cubic(t: f64) -> [f64; 4] {
    const A: f64 = -0.75;
    let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}

/// The same weights of many places, as tensors.
pub(in crate::ops) fn cubic_weights(t: &Tensor) -> Result<Vec<Tensor>> {
    const A: f64 = -0.75;
    let polynomial = |t: &Tensor, [cube, square, line, constant]: [f64; 4]| {
        let sum = t.mul(cube)?.add(square)?.mul(t)?.add(line)?.mul(t)?;
        sum.add(constant)
    };
    let near = [A + 2.0, -(A + 3.0), 0.0, 1.0];
    let far = [A, -5.0 * A, 8.0 * A, -4.0 * A];
    let rest = t.neg()?.add(1.0)?;
    Ok(vec![
        polynomial(&t.add(1.0)?, far)?,
        polynomial(t, near)?,
        polynomial(&rest, near)?,
        polynomial(&rest.add(1.0)?, far)?,
    ])
}
