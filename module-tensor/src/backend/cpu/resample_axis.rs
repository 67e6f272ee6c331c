//! Linear maps along one dimension as tables of weights, for average pooling and interpolation.

use std::ops::Range;

use super::{LinearOp, check_allocatable};
use crate::Result;

/// A linear map along one dimension, in which each output element is a weighted sum of
/// neighboring input elements.
pub(super) struct ResampleAxis {
    /// The size of the input.
    pub(super) size: usize,
    /// For each output element the range of the input elements; both ends are nondecreasing.
    pub(super) ranges: Vec<Range<usize>>,
    /// The weights of the input elements.
    pub(super) weights: AxisWeights,
}

/// The weights of a [`ResampleAxis`], without repetitions.
pub(super) enum AxisWeights {
    /// For each output element the divisor of its sum.
    OverOutput(Vec<f64>),
    /// For each input element its divisor.
    OverInput(Vec<f64>),
    /// A factor for each pair, output by output.
    Pairs(Vec<f64>),
}

impl ResampleAxis {
    /// The means of ranges of the input.
    pub(super) fn means(size: usize, ranges: Vec<Range<usize>>) -> Self {
        let counts = ranges.iter().map(|range| range.len() as f64).collect();
        Self {
            size,
            ranges,
            weights: AxisWeights::OverOutput(counts),
        }
    }

    /// The number of elements and the divisor of a mean over all of some dimensions, if that is the only output.
    pub(super) fn whole_mean(axes: &[Self]) -> Option<(usize, f64)> {
        let (mut size, mut divisor) = (1, 1.0);
        for axis in axes {
            let AxisWeights::OverOutput(divisors) = &axis.weights else {
                return None;
            };
            let [of_axis] = divisors.as_slice() else {
                return None;
            };
            if axis.ranges.first() != Some(&(0..axis.size)) {
                return None;
            }
            size *= axis.size;
            divisor *= of_axis;
        }
        Some((size, divisor))
    }

    /// The map with the transposed matrix: it maps gradients of the output to the input.
    fn transposed(self) -> Self {
        // Both ends are nondecreasing, so the outputs that use an input are neighbors as well.
        let (mut first, mut end) = (0, 0);
        let outputs = |input: usize| {
            while self
                .ranges
                .get(end)
                .is_some_and(|range| range.start <= input)
            {
                end += 1;
            }
            while first < end
                && self
                    .ranges
                    .get(first)
                    .is_some_and(|range| range.end <= input)
            {
                first += 1;
            }
            first..end
        };
        let ranges: Vec<_> = (0..self.size).map(outputs).collect();
        let weights = match self.weights {
            AxisWeights::OverOutput(divisors) => AxisWeights::OverInput(divisors),
            AxisWeights::OverInput(divisors) => AxisWeights::OverOutput(divisors),
            AxisWeights::Pairs(weights) => {
                let mut starts = Vec::with_capacity(self.ranges.len());
                let mut count = 0;
                for range in &self.ranges {
                    starts.push(count);
                    count += range.len();
                }
                let mut transposed = Vec::with_capacity(weights.len());
                for (input, outputs) in ranges.iter().enumerate() {
                    transposed.extend(outputs.clone().filter_map(|output| {
                        weights.get(
                            starts.get(output)?
                                + input.checked_sub(self.ranges.get(output)?.start)?,
                        )
                    }));
                }
                AxisWeights::Pairs(transposed)
            }
        };
        Self {
            size: self.ranges.len(),
            ranges,
            weights,
        }
    }
}

/// The maps as they are, or transposed for the backward pass.
pub(super) fn for_direction(op: LinearOp, axes: Vec<ResampleAxis>) -> Vec<ResampleAxis> {
    match op {
        LinearOp::Forward => axes,
        LinearOp::Backward => axes.into_iter().map(ResampleAxis::transposed).collect(),
    }
}

/// The ranges of `count` output elements, a number that may be as large as an argument.
pub(super) fn ranges(
    count: usize,
    range: impl Fn(usize) -> Range<usize>,
) -> Result<Vec<Range<usize>>> {
    check_allocatable::<Range<usize>>(count)?;
    Ok((0..count).map(range).collect())
}
