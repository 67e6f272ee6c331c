use crate::layout::Shape;

/// The windows of pooling over one to three spatial dimensions. Each dimension has windows of its own;
/// a place of the output sees every combination of the places that its dimensions see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolGeometry {
    /// The shape of the input, `[batch, channels, size…]`.
    pub input: Shape,
    /// The shape of the output, `[batch, channels, size…]`.
    pub output: Shape,
    /// Which places of the input a place of the output sees.
    pub windows: PoolWindows,
}

/// Which places of the input a place of the output sees; there is always at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolWindows {
    /// Windows of one size, for each spatial dimension. Place `o` of the output sees the places
    /// `o · stride - padding + k · dilation` of the input, for each `k` in `0..kernel_size`, except those
    /// outside `0..input`.
    ///
    /// The output has `(input + 2 · padding - dilation · (kernel_size - 1) - 1) / stride + 1` places, where
    /// the quotient is rounded down, or up with PyTorch's `ceil_mode`; then a last window may reach beyond
    /// the padding, but none starts after the input.
    Sliding(Vec<PoolWindow>),
    /// As many windows as the output has places: in each spatial dimension place `o` sees the places of the
    /// input in `⌊o · input / output⌋..⌈(o + 1) · input / output⌉`. The products may exceed 64 bits.
    Adaptive,
}

/// A window that slides along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolWindow {
    /// How many places it has.
    pub kernel_size: usize,
    /// Its step from one place of the output to the next.
    pub stride: usize,
    /// Places before and after the dimension, at most half the window.
    pub padding: usize,
    /// The distance between neighbors of the window; 1 for averages.
    pub dilation: usize,
}

/// What average pooling divides the sum of a window by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolDivisor {
    /// The number of places that it sees: PyTorch's `count_include_pad=False`, and adaptive pooling.
    Inside,
    /// The number of its places in the input and in the padding, but not beyond: the product over the
    /// spatial dimensions of `min(kernel_size, input + 2 · padding - o · stride)`.
    WithPadding,
    /// This number: PyTorch's `divisor_override`.
    Override(usize),
}
