mod ctc;
mod gather_along;
mod grid_sample;
mod norm;
mod pool;
mod recurrent;
mod resample;

pub use ctc::CtcGeometry;
pub use gather_along::{GatherAlongGeometry, GatherDim};
pub use grid_sample::{GridPaddingMode, GridSampleGeometry, GridSampleMode};
pub use norm::{NormGeometry, NormOver};
pub use pool::{PoolDivisor, PoolGeometry, PoolWindow, PoolWindows};
pub use recurrent::RecurrentGeometry;
pub use resample::{ResampleGeometry, ResampleMode};

use std::ops::Range;

use crate::DType;
use crate::layout::Shape;

/// The shapes and steps of a convolution over one to three spatial dimensions.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{ConvGeometry, ConvOp};
/// use module_tensor::{DType, Device, Layout, Tensor};
///
/// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]).reshape([1, 1, 4])?;
/// let weight = Tensor::from([1.0, 10.0]).reshape([1, 1, 2])?;
/// let geometry = ConvGeometry {
///     input: [1, 1, 4].into(),
///     weight: [1, 1, 2].into(),
///     output: [1, 1, 3].into(),
///     stride: vec![1],
///     padding: vec![0],
///     dilation: vec![1],
///     groups: 1,
/// };
/// let backend = Device::cpu().backend();
/// let y = backend.convolution(ConvOp::Forward, x.operand(), weight.operand(), &geometry)?;
/// let y = Tensor::from_storage(y, Layout::contiguous(geometry.output.clone()));
/// assert_eq!(y.to_vec::<f64>()?, [21.0, 32.0, 43.0]);
///
/// let grad = Tensor::ones(&geometry.output, DType::F64)?;
/// let grad = backend.convolution(ConvOp::Weight, x.operand(), grad.operand(), &geometry)?;
/// let grad = Tensor::from_storage(grad, Layout::contiguous(geometry.weight.clone()));
/// assert_eq!(grad.to_vec::<f64>()?, [6.0, 9.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
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
///
/// # Example
///
/// ```
/// use module_tensor::backend::{UnfoldGeometry, UnfoldOp};
/// use module_tensor::{Device, Layout, Tensor};
///
/// let x = Tensor::from([1.0, 2.0, 3.0]).reshape([1, 1, 3])?;
/// let geometry = UnfoldGeometry {
///     input: [1, 1, 3].into(),
///     output: vec![2],
///     kernel: vec![2],
///     stride: vec![1],
///     padding: vec![0],
///     dilation: vec![1],
/// };
/// let backend = Device::cpu().backend();
/// let columns = backend.unfold(UnfoldOp::Unfold, x.operand(), &geometry)?;
/// let columns = Tensor::from_storage(columns, Layout::contiguous([1, 2, 2].into()));
/// assert_eq!(columns.to_vec::<f64>()?, [1.0, 2.0, 2.0, 3.0]);
///
/// // The middle element is in two windows.
/// let sums = backend.unfold(UnfoldOp::Fold, columns.operand(), &geometry)?;
/// let sums = Tensor::from_storage(sums, Layout::contiguous(geometry.input.clone()));
/// assert_eq!(sums.to_vec::<f64>()?, [1.0, 4.0, 3.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
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
///
/// # Example
///
/// ```
/// use module_tensor::backend::{Outside, SampleGeometry, SampleOp};
/// use module_tensor::{Device, Layout, Tensor};
///
/// // One row of three pixels, sampled halfway between the last two and at its end.
/// let image = Tensor::from([10.0, 20.0, 40.0]).reshape([1, 1, 3])?;
/// let locations = Tensor::from([1.5, 2.0]).reshape([1, 1, 2])?;
/// let weights = Tensor::from([[0.5, 1.0], [0.5, 0.0]]).reshape([1, 2, 2])?;
/// let geometry = SampleGeometry {
///     batch: 1,
///     channels: 1,
///     sizes: vec![3],
///     locations: 2,
///     taps: 2,
///     first: 0,
///     outside: Outside::Zero,
/// };
/// assert_eq!((geometry.inner(), geometry.all_taps()), (3, 2));
/// let sampled = Device::cpu().backend().sample(
///     SampleOp::Forward,
///     image.operand(),
///     weights.operand(),
///     locations.operand(),
///     &geometry,
/// )?;
/// let sampled = Tensor::from_storage(sampled, Layout::contiguous([1, 1, 2].into()));
/// assert_eq!(sampled.to_vec::<f64>()?, [30.0, 40.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
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

/// The logits `[outer, classes, inner]` and the options of a cross-entropy with classes `[outer, inner]`.
///
/// # Example
///
/// ```
/// use module_tensor::backend::{CrossEntropyGeometry, CrossEntropyInputs};
/// use module_tensor::{DType, Device, Layout, Tensor};
///
/// // Two samples of three classes; the class of the second is ignored.
/// let geometry = CrossEntropyGeometry {
///     outer: 2,
///     classes: 3,
///     inner: 1,
///     ignore_index: -100,
///     label_smoothing: 0.0,
///     compute: DType::F64,
/// };
/// let logits = Tensor::zeros([2, 3, 1], DType::F64)?;
/// let target = Tensor::from([[1_i64], [-100]]);
/// let inputs = CrossEntropyInputs { x: logits.operand(), target: target.operand(), weight: None };
/// let kernels = Device::cpu().backend().cross_entropy().expect("the CPU has this family");
/// let (loss, saved) = kernels.forward(inputs.clone(), &geometry)?;
/// let loss = Tensor::from_storage(loss, Layout::contiguous([2, 1].into()));
/// assert!(loss.allclose(&Tensor::from([[3.0_f64.ln()], [0.0]]), Default::default())?);
///
/// let grad = kernels.backward(loss.ones_like()?.operand(), inputs, &saved, &geometry)?;
/// let grad = Tensor::from_storage(grad, Layout::contiguous([2, 3].into()));
/// let third = 1.0 / 3.0;
/// let expected = Tensor::from([[third, third - 1.0, third], [0.0; 3]]);
/// assert!(grad.allclose(&expected, Default::default())?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
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
///
/// # Example
///
/// ```
/// use module_tensor::backend::{AttentionGeometry, AttentionInputs, CausalGeometry};
/// use module_tensor::{DType, Device, Layout, Tensor};
///
/// // Queries of 0 attend to all keys that they see equally.
/// let geometry = AttentionGeometry {
///     repeats: 1,
///     scale: 1.0,
///     causal: Some(CausalGeometry { past: 0, window: None }),
///     compute: DType::F64,
/// };
/// let zeros = Tensor::zeros([1, 2, 1], DType::F64)?;
/// let value = Tensor::from([2.0, 4.0]).reshape([1, 2, 1])?;
/// let inputs = AttentionInputs {
///     query: zeros.operand(),
///     key: zeros.operand(),
///     value: value.operand(),
///     mask: None,
/// };
/// let kernels = Device::cpu().backend().attention().expect("the CPU has this family");
/// let (output, saved) = kernels.forward(inputs.clone(), &geometry)?;
/// let tensor = |storage| Tensor::from_storage(storage, Layout::contiguous([1, 2, 1].into()));
/// assert_eq!(tensor(output).to_vec::<f64>()?, [2.0, 3.0]);
///
/// let grad = zeros.ones_like()?.operand();
/// let [_, _, value] = kernels.backward(grad, inputs, &saved, &geometry)?;
/// assert_eq!(tensor(value).to_vec::<f64>()?, [1.5, 0.5]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
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
///
/// # Example
///
/// ```
/// use module_tensor::backend::CausalGeometry;
///
/// // Ten keys in a cache, and the queries of the next three, each of which attends to four keys.
/// let causal = CausalGeometry { past: 10, window: Some(4) };
/// assert_eq!(causal.visible(0, 13), 7..11);
/// assert_eq!(causal.visible(2, 13), 9..13);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CausalGeometry {
    /// The number of keys before that of the first query.
    pub past: usize,
    /// The maximum number of keys that a query attends to, ending with its own.
    pub window: Option<usize>,
}

impl CausalGeometry {
    /// The keys that a query attends to, out of this many.
    pub fn visible(self, query: usize, keys: usize) -> Range<usize> {
        let end = self.past.saturating_add(query).saturating_add(1);
        let start = self.window.map_or(0, |window| end.saturating_sub(window));
        start.min(keys)..end.min(keys)
    }
}
