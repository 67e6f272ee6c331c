//! The tables of weights for resizing.

use std::ops::Range;

use super::resample_axis::{AxisWeights, ResampleAxis, ranges};
use super::{ResampleGeometry, ResampleMode, check_allocatable};
use crate::{DType, Result};

/// The table of weights for each spatial dimension of images of `dtype`.
pub(super) fn axes(geometry: &ResampleGeometry, dtype: DType) -> Result<Vec<ResampleAxis>> {
    use ResampleMode as Mode;
    let sizes = geometry.input.iter().zip(geometry.output.iter()).skip(2);
    let axes = sizes.zip(&geometry.scale).map(|((&size, &to), &scale)| {
        let map = Map { size, to, scale };
        match geometry.mode {
            Mode::Nearest => map.nearest(dtype, false),
            Mode::NearestExact => map.nearest(dtype, true),
            Mode::Linear { .. } if to == size => {
                Ok(ResampleAxis::means(size, ranges(to, |at| at..at + 1)?))
            }
            Mode::Linear { align_corners } => map.taps(align_corners, 0, |t| [1.0 - t, t]),
            Mode::Cubic { align_corners } => map.taps(align_corners, 1, cubic),
            Mode::AntialiasedLinear => map.averages(1.0, tent),
            Mode::AntialiasedCubic => map.averages(2.0, |x| cubic_filter(x.abs(), -0.5)),
        }
    });
    axes.collect()
}

/// One dimension, resized.
struct Map {
    size: usize,
    to: usize,
    /// The distance in the input between neighboring output pixels.
    scale: f64,
}

impl Map {
    /// The input pixel that contains the start of each output pixel, or its center if `exact`.
    fn nearest(&self, dtype: DType, exact: bool) -> Result<ResampleAxis> {
        // As PyTorch computes it, to the bit: another rounding would choose another pixel.
        let pixel = |at: usize| match (dtype, exact) {
            (DType::F64, false) => (at as f64 * self.scale) as f32,
            (DType::F64, true) => ((at as f64 + 0.5).mul_add(self.scale, -0.5) + 0.5) as f32,
            (_, false) => at as f32 * self.scale as f32,
            (_, true) => (at as f32 + 0.5).mul_add(self.scale as f32, -0.5) + 0.5,
        };
        let ranges = ranges(self.to, |at| {
            let pixel = (pixel(at) as usize).min(self.size - 1);
            pixel..pixel + 1
        })?;
        Ok(ResampleAxis::means(self.size, ranges))
    }

    /// The mean of the pixels that an output pixel covers, weighted by a filter that ends `reach`
    /// pixels from its center, and further away where the image becomes smaller. Aligned
    /// corners change the scale only, as in PyTorch.
    fn averages(&self, reach: f64, filter: impl Fn(f64) -> f64) -> Result<ResampleAxis> {
        let width = self.scale.max(1.0);
        let support = reach * width;
        let center = |at: usize| self.scale * (at as f64 + 0.5);
        let ranges = ranges(self.to, |at| {
            let start = (center(at) - support + 0.5).max(0.0) as usize;
            let end = (center(at) + support + 0.5) as usize;
            let start = start.min(self.size - 1);
            start..end.min(self.size).max(start + 1)
        })?;
        let count = ranges
            .iter()
            .map(|range| range.len())
            .fold(0, usize::saturating_add);
        check_allocatable::<f64>(count)?;
        let mut pairs = Vec::with_capacity(count);
        for (at, range) in ranges.iter().enumerate() {
            let weight = |pixel: usize| filter((pixel as f64 - center(at) + 0.5) / width);
            let start = pairs.len();
            pairs.extend(range.clone().map(weight));
            let weights = &mut pairs[start..];
            let total: f64 = weights.iter().sum();
            weights.iter_mut().for_each(|weight| *weight /= total);
        }
        Ok(ResampleAxis {
            size: self.size,
            ranges,
            weights: AxisWeights::Pairs(pairs),
        })
    }

    /// `K` neighbors, the first of them `before` the pixel to the left, with weights by the distance of the
    /// output pixel from that one; those beyond the border are the last pixel inside.
    fn taps<const K: usize>(
        &self,
        align_corners: bool,
        before: usize,
        weights: impl Fn(f64) -> [f64; K],
    ) -> Result<ResampleAxis> {
        check_allocatable::<Range<usize>>(self.to)?;
        check_allocatable::<f64>(self.to.saturating_mul(K))?;
        let last = self.size - 1;
        // The index of the pixel to the left, and the distance from it.
        let source = |at: usize| {
            let source = match align_corners {
                true => at as f64 * self.scale,
                false => (at as f64 + 0.5) * self.scale - 0.5,
            };
            // Only the cubic looks beyond the border.
            let source = if before == 0 { source.max(0.0) } else { source };
            // Rounded down; `floor` would be a call.
            let whole = source as isize;
            let left = if whole as f64 > source {
                whole - 1
            } else {
                whole
            };
            let left = left.min(last as isize);
            (left, (source - left as f64).clamp(0.0, 1.0))
        };
        let neighbor = |left: isize, tap: usize| {
            let pixel = left
                .saturating_add_unsigned(tap)
                .saturating_sub_unsigned(before);
            usize::try_from(pixel).unwrap_or(0).min(last)
        };
        let mut ranges = Vec::with_capacity(self.to);
        let mut pairs = Vec::with_capacity(self.to * K);
        for at in 0..self.to {
            let (left, rest) = source(at);
            let range = neighbor(left, 0)..neighbor(left, K - 1) + 1;
            let start = pairs.len();
            pairs.resize(start + range.len(), 0.0);
            for (tap, weight) in weights(rest).into_iter().enumerate() {
                pairs[start + neighbor(left, tap) - range.start] += weight;
            }
            ranges.push(range);
        }
        Ok(ResampleAxis {
            size: self.size,
            ranges,
            weights: AxisWeights::Pairs(pairs),
        })
    }
}

/// The filter of linear interpolation.
fn tent(x: f64) -> f64 {
    (1.0 - x.abs()).max(0.0)
}

/// The filter of cubic interpolation, by the distance.
fn cubic_filter(x: f64, a: f64) -> f64 {
    if x < 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

/// The weights of four neighbors, of which the pixel lies `t` after the second.
fn cubic(t: f64) -> [f64; 4] {
    const A: f64 = -0.75;
    let near = |x: f64| ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0;
    let far = |x: f64| ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A;
    [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]
}
