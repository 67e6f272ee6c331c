mod gather_along;
mod pool;
mod resample;

pub use gather_along::{GatherAlongGeometry, GatherDim};
pub use pool::{PoolDivisor, PoolGeometry, PoolWindow, PoolWindows};
pub use resample::{ResampleGeometry, ResampleMode};

use std::ops::Range;

use super::RecurrentOp;
use crate::DType;
use crate::layout::Shape;

/// The shapes and steps of a convolution over one to three spatial dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConvGeometry {
    /// The shape of the input, `[batch, in_channels, size…]`.
    pub input: Shape,
    /// The shape of the weight, `[out_channels, in_channels / groups, kernel…]`.
    pub weight: Shape,
    /// The shape of the output, `[batch, out_channels, size…]`.
    pub output: Shape,
    /// The step of the window in each spatial dimension.
    pub stride: Vec<usize>,
    /// Zeros before each spatial dimension; after it there are as many as the output reaches.
    pub padding: Vec<usize>,
    /// The distance between neighbors of the window in each spatial dimension.
    pub dilation: Vec<usize>,
    /// The number of groups of channels.
    pub groups: usize,
}

/// The sizes and strides of the windows that are laid out side by side as columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfoldGeometry {
    /// The shape of the input, `[batch, channels, size…]`.
    pub input: Shape,
    /// The number of windows in each spatial dimension.
    pub output: Vec<usize>,
    /// The size of the window in each spatial dimension.
    pub kernel: Vec<usize>,
    /// The step of the window in each spatial dimension.
    pub stride: Vec<usize>,
    /// Zeros before each spatial dimension.
    pub padding: Vec<usize>,
    /// The distance between neighbors of the window in each spatial dimension.
    pub dilation: Vec<usize>,
}

/// The values of pixels outside an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outside {
    /// A zero.
    Zero,
    /// The nearest pixel inside.
    Border,
    /// The pixel reflected at the border of the image.
    Reflection {
        /// Whether the border goes through the centers of the outermost pixels rather than along their outer
        /// edges.
        align_corners: bool,
    },
}

/// The sampling of images `[batch, channels, size…]` at `[batch, dimensions, locations]`: at each location it
/// reads neighbors in each dimension, each with a weight of `[batch, taps…, locations]`, and gives
/// `[batch, channels, locations]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SampleGeometry {
    /// The size of the batch.
    pub batch: usize,
    /// The number of channels.
    pub channels: usize,
    /// The spatial sizes of the image.
    pub sizes: Vec<usize>,
    /// The number of locations.
    pub locations: usize,
    /// The number of neighbors in each dimension.
    pub taps: usize,
    /// The offset of the first neighbor from the floor of the location.
    pub first: i64,
    /// The values outside the image.
    pub outside: Outside,
}

impl SampleGeometry {
    /// The number of elements of a channel of the image.
    pub fn inner(&self) -> usize {
        self.sizes.iter().product()
    }

    /// The number of neighbors of a location.
    pub fn all_taps(&self) -> usize {
        self.taps.pow(self.sizes.len() as u32)
    }
}

/// The elements that share a mean and a variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NormOver {
    /// The channels of a group in one element of the batch.
    Row,
    /// A group over the whole batch.
    Batch,
    /// Like [`Batch`](Self::Batch), but with given statistics, which do not depend on the input.
    Given,
}

/// The normalization of an input `[batch, groups, channels, inner]`:
/// `(x - mean) / √(var + eps) · weight + bias` with a weight and a bias `[groups, channels]`.
///
/// Over the batch there is one channel in each group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormGeometry {
    /// The size of the batch.
    pub batch: usize,
    /// The number of groups of channels.
    pub groups: usize,
    /// The number of channels of a group.
    pub channels: usize,
    /// The number of elements with the same weight.
    pub inner: usize,
    /// The elements that share statistics.
    pub over: NormOver,
    /// Whether the mean is subtracted; otherwise the mean is 0, and the variance is the mean square.
    pub centered: bool,
    /// The number that is added to the variance.
    pub eps: f64,
    /// Whether means and variances are returned, for running statistics.
    pub with_statistics: bool,
    /// The dtype to compute in, whatever dtypes the operands have.
    pub compute: DType,
}

impl NormGeometry {
    /// The shape `[batch, groups, channels, inner]`.
    pub fn shape(&self) -> Shape {
        [self.batch, self.groups, self.channels, self.inner].into()
    }

    /// The number of means and of variances.
    pub fn statistics_count(&self) -> usize {
        match self.over {
            NormOver::Row => self.batch * self.groups,
            NormOver::Batch | NormOver::Given => self.groups,
        }
    }
}

/// The logits `[outer, classes, inner]` and the options of a cross-entropy with classes `[outer, inner]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropyGeometry {
    /// The product of the sizes before the classes.
    pub outer: usize,
    /// The number of classes.
    pub classes: usize,
    /// The product of the sizes after the classes.
    pub inner: usize,
    /// A class whose elements have loss 0.
    pub ignore_index: i64,
    /// The fraction of the target that is spread uniformly over all classes.
    pub label_smoothing: f64,
    /// The dtype to compute in, whatever dtypes the operands have.
    pub compute: DType,
}

/// The attention of queries `[batch, length, width]` to keys and values
/// `[batch / repeats, keys, width]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionGeometry {
    /// The number of consecutive elements of the batch that share keys and values.
    pub repeats: usize,
    /// The factor of the products of queries and keys.
    pub scale: f64,
    /// Which keys each query attends to; all if absent.
    pub causal: Option<CausalGeometry>,
    /// The dtype to compute in, whatever dtypes the operands have.
    pub compute: DType,
}

/// The keys that the queries of an attention attend to: query `i` up to its own key `past + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CausalGeometry {
    /// The number of keys before that of the first query.
    pub past: usize,
    /// The maximum number of keys that a query attends to, ending with its own.
    pub window: Option<usize>,
}

impl CausalGeometry {
    /// The keys that a query attends to, out of this many.
    pub fn seen(self, query: usize, keys: usize) -> Range<usize> {
        let end = self.past.saturating_add(query).saturating_add(1);
        let start = self.window.map_or(0, |window| end.saturating_sub(window));
        start.min(keys)..end.min(keys)
    }
}

/// The steps of a recurrent layer over sequences of different lengths, longest first: the rows of a step are those of the
/// sequences that reach it, and the rows of the steps follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecurrentGeometry {
    /// The cell of each step.
    pub op: RecurrentOp,
    /// The size of a gate, and of the state `c`.
    pub hidden: usize,
    /// The size of the state `h`.
    pub width: usize,
    /// The number of sequences that reach each step; never more than at the step before.
    pub batch_sizes: Vec<usize>,
    /// Whether the last step is computed first.
    pub reverse: bool,
    /// The dtype to compute in, whatever dtypes the operands have.
    pub compute: DType,
}

impl RecurrentGeometry {
    /// The number of sequences.
    pub fn batch(&self) -> usize {
        self.batch_sizes.first().copied().unwrap_or(0)
    }

    /// The number of rows of all steps.
    pub fn rows(&self) -> usize {
        self.batch_sizes.iter().sum()
    }

    /// The rows of each step, in the order in which they are computed.
    pub fn steps(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let rows = |&count: &usize| {
            end += count;
            end - count..end
        };
        let mut steps: Vec<_> = self.batch_sizes.iter().map(rows).collect();
        if self.reverse {
            steps.reverse();
        }
        steps
    }

    /// For each row, the row whose state it starts from; the initial states count as rows after all others.
    pub fn previous(&self) -> Vec<usize> {
        let rows = self.rows();
        let mut previous = vec![0; rows];
        let mut latest: Vec<usize> = (rows..rows + self.batch()).collect();
        for step in self.steps() {
            for (row, latest) in step.zip(&mut latest) {
                if let Some(previous) = previous.get_mut(row) {
                    *previous = *latest;
                }
                *latest = row;
            }
        }
        previous
    }

    /// For each sequence, the row of its final state, in the order of computation.
    pub fn last(&self) -> Vec<usize> {
        let mut last = vec![0; self.batch()];
        for step in self.steps() {
            step.zip(&mut last).for_each(|(row, last)| *last = row);
        }
        last
    }
}
