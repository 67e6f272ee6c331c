//! Tables of linear maps along one dimension: what average pooling and interpolation sum.

use std::ops::Range;

use super::{LinearOp, check_allocatable};
use crate::Result;

/// A linear map along one dimension, in which each place of the output is a weighted sum of
/// neighbors in the input.
pub(super) struct ResampleAxis {
    /// The size of the input.
    pub(super) size: usize,
    /// For each place of the output the neighbors in the input; neither end ever falls.
    pub(super) ranges: Vec<Range<usize>>,
    /// What they count.
    pub(super) weights: AxisWeights,
}

/// The weights of a [`ResampleAxis`], no more of them than differ.
pub(super) enum AxisWeights {
    /// For each place of the output what its sum is divided by.
    OverOutput(Vec<f64>),
    /// For each place of the input what it is divided by.
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

    /// The map whose matrix is this one's turned: it takes gradients of the output to the input.
    fn transposed(self) -> Self {
        // Both ends never fall, so the outputs that see an input are neighbors as well.
        let (mut first, mut end) = (0, 0);
        let outputs = |place: usize| {
            while self
                .ranges
                .get(end)
                .is_some_and(|range| range.start <= place)
            {
                end += 1;
            }
            while first < end
                && self
                    .ranges
                    .get(first)
                    .is_some_and(|range| range.end <= place)
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
                let mut turned = Vec::with_capacity(weights.len());
                for (place, outputs) in ranges.iter().enumerate() {
                    turned.extend(outputs.clone().filter_map(|output| {
                        weights.get(
                            starts.get(output)?
                                + place.checked_sub(self.ranges.get(output)?.start)?,
                        )
                    }));
                }
                AxisWeights::Pairs(turned)
            }
        };
        Self {
            size: self.ranges.len(),
            ranges,
            weights,
        }
    }
}

/// The maps from an input to an output as such, or transposed.
pub(super) fn directed(op: LinearOp, bands: Vec<ResampleAxis>) -> Vec<ResampleAxis> {
    match op {
        LinearOp::Forward => bands,
        LinearOp::Backward => bands.into_iter().map(ResampleAxis::transposed).collect(),
    }
}

/// What each of `count` places sees; their number is as large as an argument says.
pub(super) fn ranges(
    count: usize,
    range: impl Fn(usize) -> Range<usize>,
) -> Result<Vec<Range<usize>>> {
    check_allocatable::<Range<usize>>(count)?;
    Ok((0..count).map(range).collect())
}
