//! The windows of pooling.

use std::ops::Range;

use super::resample_axis::{AxisWeights, ResampleAxis, ranges};
use super::{PoolDivisor, PoolGeometry, PoolWindow, PoolWindows};
use crate::Result;

/// The windows along one dimension of an input.
pub(super) struct Windows {
    /// The size of the input.
    pub(super) size: usize,
    /// The distance between neighbors of a window.
    pub(super) step: usize,
    /// For each output element the first input element of its window, and one past the last; never empty,
    /// never outside, and both ends are nondecreasing.
    pub(super) ranges: Vec<Range<usize>>,
}

impl Windows {
    /// A dimension of one element, which is its own window.
    pub(super) fn single() -> Self {
        Self {
            size: 1,
            step: 1,
            ranges: std::iter::once(0..1).collect(),
        }
    }

    /// Whether each element is its own window.
    pub(super) fn are_single(&self) -> bool {
        let ranges = self.ranges.iter().cloned();
        ranges.eq((0..self.size).map(|at| at..at + 1))
    }

    /// The distance between neighbors of a window, less than the size; 1 if no window has two elements.
    pub(super) fn distance(&self) -> usize {
        let is_used = self.ranges.iter().any(|range| range.len() > self.step);
        if is_used { self.step } else { 1 }
    }

    /// The first element and the number of elements of each window.
    pub(super) fn starts_and_counts(&self) -> Vec<(usize, usize)> {
        let count = |range: &Range<usize>| (range.start, range.len().div_ceil(self.step));
        self.ranges.iter().map(count).collect()
    }
}

/// The windows along each spatial dimension.
pub(super) fn windows(geometry: &PoolGeometry) -> Result<Vec<Windows>> {
    let sizes = geometry.input.iter().zip(geometry.output.iter()).skip(2);
    let windows = sizes.enumerate().map(|(d, (&size, &count))| {
        let (step, ranges) = match &geometry.windows {
            PoolWindows::Adaptive => (1, covered(size, count)?),
            PoolWindows::Sliding(windows) => {
                let PoolWindow {
                    kernel_size,
                    stride,
                    padding,
                    dilation: step,
                } = windows[d];
                let span = step * (kernel_size - 1) + 1;
                let range = |at: usize| {
                    let start = at * stride;
                    let outside = padding.saturating_sub(start).div_ceil(step) * step;
                    let end = start.saturating_add(span).saturating_sub(padding);
                    start + outside - padding..end.min(size)
                };
                (step, ranges(count, range)?)
            }
        };
        Ok(Windows { size, step, ranges })
    });
    windows.collect()
}

/// Average pooling along each spatial dimension.
pub(super) fn averages(geometry: &PoolGeometry, divisor: PoolDivisor) -> Result<Vec<ResampleAxis>> {
    let windows = windows(geometry)?.into_iter().enumerate();
    let axes = windows.map(|(d, windows)| {
        let Windows { size, ranges, .. } = windows;
        let divisors = match (divisor, &geometry.windows) {
            // The override is for all dimensions together.
            (PoolDivisor::Override(divisor), _) => {
                vec![if d == 0 { divisor as f64 } else { 1.0 }; ranges.len()]
            }
            (PoolDivisor::WithPadding, PoolWindows::Sliding(windows)) => {
                let PoolWindow {
                    kernel_size,
                    stride,
                    padding,
                    ..
                } = windows[d];
                let end = size + 2 * padding;
                let count = |at: usize| (end - at * stride).min(kernel_size) as f64;
                (0..ranges.len()).map(count).collect()
            }
            _ => return ResampleAxis::means(size, ranges),
        };
        ResampleAxis {
            size,
            ranges,
            weights: AxisWeights::OverOutput(divisors),
        }
    });
    Ok(axes.collect())
}

/// The input elements that each of `count` output elements covers, if only in part.
fn covered(size: usize, count: usize) -> Result<Vec<Range<usize>>> {
    // The product with an index may exceed the machine's numbers.
    let at = |output: usize| output as u128 * size as u128;
    let end = |output: usize| at(output + 1).div_ceil(count as u128) as usize;
    ranges(count, |output| {
        (at(output) / count as u128) as usize..end(output)
    })
}
