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
