use crate::layout::Shape;

/// The windows of pooling over one to three spatial dimensions. Each dimension has its own windows, and the window of an
/// output element is the product of its windows in all dimensions.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{LinearOp, PoolDivisor, PoolGeometry, PoolWindow, PoolWindows};
/// use module_tensor::{Device, Layout, Tensor};
///
/// let window = PoolWindow { kernel_size: 2, stride: 2, padding: 0, dilation: 1 };
/// let geometry = PoolGeometry {
///     input: [1, 1, 4].into(),
///     output: [1, 1, 2].into(),
///     windows: PoolWindows::Sliding(vec![window]),
/// };
/// let backend = Device::cpu().backend();
/// let x = Tensor::from([1.0, 5.0, 7.0, 3.0]).reshape(&geometry.input)?;
/// let output = |storage| Tensor::from_storage(storage, Layout::contiguous(geometry.output.clone()));
///
/// let max = backend.max_pool(x.operand(), &geometry)?;
/// assert_eq!(output(max).to_vec::<f64>()?, [5.0, 7.0]);
/// let (max, indices) = backend.max_pool_with_indices(x.operand(), &geometry)?;
/// let (max, indices) = (output(max), output(indices));
/// assert_eq!(indices.to_vec::<i64>()?, [1, 2]);
/// let grad = backend.max_pool_backward(max.operand(), indices.operand(), &geometry)?;
/// let grad = Tensor::from_storage(grad, Layout::contiguous(geometry.input.clone()));
/// assert_eq!(grad.to_vec::<f64>()?, [0.0, 5.0, 7.0, 0.0]);
///
/// let mean = backend.avg_pool(LinearOp::Forward, x.operand(), &geometry, PoolDivisor::Inside)?;
/// assert_eq!(output(mean).to_vec::<f64>()?, [3.0, 5.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolGeometry {
    /// The shape of the input, `[batch, channels, size…]`.
    pub input: Shape,
    /// The shape of the output, `[batch, channels, size…]`.
    pub output: Shape,
    /// The window of each output element.
    pub windows: PoolWindows,
}

/// The window of each output element: the input elements that it covers, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolWindows {
    /// Windows of equal size, for each spatial dimension. Output element `o` covers the elements
    /// `o · stride - padding + k · dilation` of the input, for each `k` in `0..kernel_size`, except those outside
    /// `0..input`.
    ///
    /// The output has `(input + 2 · padding - dilation · (kernel_size - 1) - 1) / stride + 1` elements, where
    /// the quotient is rounded down, or up with PyTorch's `ceil_mode`; then a last window may reach beyond
    /// the padding, but none starts after the input.
    Sliding(Vec<PoolWindow>),
    /// One window per output element: in each spatial dimension output element `o` covers the input elements
    /// `⌊o · input / output⌋..⌈(o + 1) · input / output⌉`. The products may exceed 64 bits.
    Adaptive,
}

/// A window that slides along one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolWindow {
    /// The number of its elements.
    pub kernel_size: usize,
    /// Its step from one output element to the next.
    pub stride: usize,
    /// Elements before and after the dimension, at most half the window.
    pub padding: usize,
    /// The distance between neighbors of the window; 1 for averages.
    pub dilation: usize,
}

/// The divisor of the sum of a window in average pooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PoolDivisor {
    /// The number of input elements in the window: PyTorch's `count_include_pad=False`, and adaptive pooling.
    Inside,
    /// The number of elements of the window in the input and in the padding, but not beyond: the product over the
    /// spatial dimensions of `min(kernel_size, input + 2 · padding - o · stride)`.
    WithPadding,
    /// This number: PyTorch's `divisor_override`.
    Override(usize),
}
