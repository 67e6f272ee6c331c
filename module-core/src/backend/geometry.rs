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
    /// Zeros before and after in each spatial dimension.
    pub padding: Vec<usize>,
    /// The distance between neighbours of the window in each spatial dimension.
    pub dilation: Vec<usize>,
    /// The number of blocks into which the channels fall.
    pub groups: usize,
}

/// The shapes and steps of pooling over two spatial dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolGeometry {
    /// The size of the window.
    pub kernel: [usize; 2],
    /// The step of the window.
    pub stride: [usize; 2],
    /// Places before and after that never win.
    pub padding: [usize; 2],
    /// The distance between neighbours of the window.
    pub dilation: [usize; 2],
    /// The height and the width of the output.
    pub output: [usize; 2],
}

/// What shares a mean and a variance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NormOver {
    /// The channels of a group in one element of the batch.
    Row,
    /// A group over the whole batch.
    Batch,
    /// As [`Batch`](Self::Batch), by statistics that are given and do not depend on the input.
    Given,
}

/// How an input `[batch, groups, channels, inner]` is normalised:
/// `(x - mean) / √(var + eps) · weight + bias` with a weight and a bias `[groups, channels]`.
///
/// Over the batch there is one channel in each group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormGeometry {
    /// The size of the batch.
    pub batch: usize,
    /// How many groups of channels there are.
    pub groups: usize,
    /// How many channels a group has.
    pub channels: usize,
    /// How many elements have one weight.
    pub inner: usize,
    /// What shares statistics.
    pub over: NormOver,
    /// Whether the mean is subtracted; otherwise it is 0, and the variance the mean square.
    pub centred: bool,
    /// What is added to the variance.
    pub eps: f64,
}

impl NormGeometry {
    /// The shape `[batch, groups, channels, inner]`.
    pub fn shape(&self) -> Shape {
        [self.batch, self.groups, self.channels, self.inner].into()
    }

    /// How many means and variances there are.
    pub fn statistics(&self) -> usize {
        match self.over {
            NormOver::Row => self.batch * self.groups,
            NormOver::Batch | NormOver::Given => self.groups,
        }
    }
}

/// Logits `[outer, classes, inner]` and what the cross-entropy with classes `[outer, inner]` needs
/// to know.
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
    /// How much of the target is spread evenly over all classes.
    pub label_smoothing: f64,
}

/// How queries `[batch, length, width]` attend to keys and values
/// `[batch / repeats, keys, width]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionGeometry {
    /// How many elements of the batch after each other share keys and values.
    pub repeats: usize,
    /// What the products of queries and keys are multiplied by.
    pub scale: f64,
    /// Whether query `i` sees only the keys up to `i`.
    pub is_causal: bool,
}
