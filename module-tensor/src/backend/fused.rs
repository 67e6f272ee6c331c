//! Kernels that do several steps at once, family by family: what a device may implement, and what they read and return.

mod ctc;
mod dropout;
mod grid_sample;

pub use ctc::CtcKernels;
pub use dropout::DropoutKernels;
pub use grid_sample::GridSampleKernels;

use super::{
    AttentionGeometry, CrossEntropyGeometry, Formula, NormGeometry, Operand, RecurrentGeometry,
    Saved, SoftmaxOp, Storage,
};
use crate::{DType, Result};

/// The gradient of softmax, and `ln Σ eˣ`; half precision is computed in `F32`. Errors are those of
/// [`Backend::unary`](super::Backend::unary).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// assert!(Device::cpu().backend().softmax_family().is_some());
/// ```
///
/// ```
/// use module_tensor::backend::SoftmaxOp;
/// use module_tensor::{Device, Layout, Tensor};
///
/// let kernels = Device::cpu().backend().softmax_family().expect("the CPU has this family");
/// let x = Tensor::from([0.0, 3.0_f64.ln()]);
/// let vector = |storage| Tensor::from_storage(storage, Layout::contiguous(2.into()));
/// let (sum, saved) = kernels.logsumexp(x.operand(), 0)?;
/// let sum = Tensor::from_storage(sum, Layout::contiguous(1.into()));
/// assert!(sum.allclose(&Tensor::from([4.0_f64.ln()]), Default::default())?);
///
/// // The gradient of `ln Σ eˣ` is the softmax of `x`.
/// let ones = sum.ones_like()?.operand();
/// let y = vector(kernels.logsumexp_backward(ones, x.operand(), &saved, 0)?);
/// assert!(y.allclose(&Tensor::from([0.25, 0.75]), Default::default())?);
///
/// // The same sum up to each element.
/// let sums = kernels.logcumsumexp(x.operand(), 0, false)?.expect("the CPU computes it");
/// assert!(vector(sums).allclose(&Tensor::from([0.0, 4.0_f64.ln()]), Default::default())?);
///
/// // Outputs that always add up to 1 do not change by a gradient that is the same for all.
/// let ones = y.ones_like()?.operand();
/// let grad = vector(kernels.softmax_backward(SoftmaxOp::Softmax, ones, y.operand(), 0)?);
/// assert!(grad.abs()?.amax(..)?.item::<f64>()? < 1e-12);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait SoftmaxKernels {
    /// The gradient of [`Backend::softmax`](super::Backend::softmax) from that of its output `y`.
    fn softmax_backward(
        &self,
        op: SoftmaxOp,
        grad: Operand,
        y: Operand,
        dim: usize,
    ) -> Result<Storage>;

    /// `ln Σ eˣ` along `dim`, which then has size 1.
    fn logsumexp(&self, x: Operand, dim: usize) -> Result<(Storage, Saved)>;

    /// The gradient of [`logsumexp`](Self::logsumexp) from that of its output.
    fn logsumexp_backward(
        &self,
        grad: Operand,
        x: Operand,
        saved: &Saved,
        dim: usize,
    ) -> Result<Storage>;

    /// `ln Σ eˣ` along `dim` up to each element, or from each on if `reverse`; `None` if only the CPU is to compute it.
    fn logcumsumexp(&self, _x: Operand, _dim: usize, _reverse: bool) -> Result<Option<Storage>> {
        Ok(None)
    }
}

/// Normalization. Errors are those of [`Backend::unary`](super::Backend::unary).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// assert!(Device::cpu().backend().normalization().is_some());
/// ```
pub trait NormKernels {
    /// The normalized elements in the dtype of `x`, and the statistics if requested.
    fn forward(&self, inputs: NormInputs, geometry: &NormGeometry) -> Result<Normalized>;

    /// The gradients, from what [`forward`](Self::forward) saved for the same inputs.
    fn backward(
        &self,
        grad: Operand,
        inputs: NormInputs,
        saved: &Saved,
        geometry: &NormGeometry,
    ) -> Result<NormGradients>;
}

/// Cross-entropy of logits and classes. Errors are those of [`Backend::unary`](super::Backend::unary), and classes that are
/// out of range.
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// assert!(Device::cpu().backend().cross_entropy().is_some());
/// ```
pub trait CrossEntropyKernels {
    /// The loss of each element in the dtype of the computation, because losses are summed before they
    /// are rounded.
    fn forward(
        &self,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<(Storage, Saved)>;

    /// The gradient of the logits, in their dtype.
    fn backward(
        &self,
        grad: Operand,
        inputs: CrossEntropyInputs,
        saved: &Saved,
        geometry: &CrossEntropyGeometry,
    ) -> Result<Storage>;
}

/// Attention. Errors are those of [`Backend::unary`](super::Backend::unary).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// assert!(Device::cpu().backend().attention().is_some());
/// ```
pub trait AttentionKernels {
    /// `softmax(query · keyᵀ · scale + mask) · value`, in the dtype of the query. A fully masked row is 0.
    fn forward(
        &self,
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<(Storage, Saved)>;

    /// The gradients of query, key and value.
    fn backward(
        &self,
        grad: Operand,
        inputs: AttentionInputs,
        saved: &Saved,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]>;
}

/// The steps of recurrent layers. Errors are those of [`Backend::unary`](super::Backend::unary).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// assert!(Device::cpu().backend().recurrent().is_some());
/// ```
///
/// ```
/// use module_tensor::backend::{RecurrentGeometry, RecurrentInputs, RecurrentNeeds, RecurrentOp};
/// use module_tensor::{DType, Device, Layout, Tensor};
///
/// // A sequence of two steps with a state of one number: `h′ = max(0, x + 2·h)`.
/// let geometry = RecurrentGeometry {
///     op: RecurrentOp::Relu,
///     hidden: 1,
///     width: 1,
///     batch_sizes: vec![1, 1],
///     reverse: false,
///     compute: DType::F64,
/// };
/// let inputs = RecurrentInputs {
///     gates: Tensor::from([[1.0], [5.0]]).operand(),
///     hidden: Tensor::from([[10.0]]).operand(),
///     cell: None,
///     weight: Tensor::from([[2.0]]).operand(),
///     bias: None,
///     projection: None,
/// };
/// let kernels = Device::cpu().backend().recurrent().expect("the CPU has this family");
/// let states = kernels.forward(inputs.clone(), &geometry)?;
/// let tensor = |storage, rows: usize| {
///     Tensor::from_storage(storage, Layout::contiguous([rows, 1].into())).to_vec::<f64>()
/// };
/// assert_eq!(tensor(states.hidden, 2)?, [21.0, 47.0]);
///
/// // The gradient of the last state.
/// let grad = Tensor::from([[0.0], [1.0]]).operand();
/// let needed = RecurrentNeeds { weight: true, ..RecurrentNeeds::default() };
/// let grads = kernels.backward([Some(grad), None], inputs, &states.saved, needed, &geometry)?;
/// assert_eq!(tensor(grads.gates, 2)?, [2.0, 1.0]);
/// assert_eq!(tensor(grads.hidden, 1)?, [4.0]);
/// assert_eq!(tensor(grads.weight.expect("it is needed"), 1)?, [2.0 * 10.0 + 21.0]);
/// assert!(grads.bias.is_none());
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait RecurrentKernels {
    /// The states after each step, in the dtype of the gates.
    fn forward(
        &self,
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentStates>;

    /// The gradients (for the parameters, only those that are `needed`) from the gradients of the states `h′` and `c′`,
    /// which are `None` if nothing used the states.
    fn backward(
        &self,
        grads: [Option<Operand>; 2],
        inputs: RecurrentInputs,
        saved: &Saved,
        needed: RecurrentNeeds,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentGradients>;
}

/// Elementwise formulas over several tensors, in one pass, for optimizers. Errors are those of
/// [`Backend::unary`](super::Backend::unary).
///
/// # Example
///
/// ```
/// use module_tensor::Device;
///
/// // The CPU compiles each formula into a loop of its own instead (`fused::update_elements`).
/// assert!(Device::cpu().backend().updates().is_none());
/// ```
///
/// ```
/// use module_tensor::backend::{Formula, Operand, Storage, UpdateKernels};
/// use module_tensor::{DType, DTypeError, Result};
///
/// /// A device whose formulas are compiled for one dtype.
/// struct Single;
///
/// impl UpdateKernels for Single {
///     fn serves(&self, dtype: DType) -> bool {
///         dtype == DType::F32
///     }
///
///     fn update(
///         &self,
///         written: &mut [&mut Storage],
///         _read: &[Operand],
///         _formula: &Formula,
///     ) -> Result<()> {
///         let dtype = written.first().map_or(DType::F32, |storage| storage.dtype());
///         if !self.serves(dtype) {
///             return Err(DTypeError::Unsupported { op: "update", dtype, needs: "f32" }.into());
///         }
///         // Here the formula is compiled, and started on the memory.
///         Ok(())
///     }
/// }
///
/// assert!(Single.serves(DType::F32) && !Single.serves(DType::F64));
/// ```
pub trait UpdateKernels {
    /// Whether updates of this dtype are supported. Others are composed of operations, with a rounding after each step of
    /// the formula.
    fn serves(&self, dtype: DType) -> bool;

    /// Writes the results of a formula over its first tensors. These and the tensors that it reads have the same dtype and
    /// number of elements, in the same order; written elements start at the beginning of their memory. A formula that reads
    /// nothing updates all that is written. Memory is written in place, or replaced if other handles share it; an error leaves
    /// it unchanged.
    fn update(
        &self,
        written: &mut [&mut Storage],
        read: &[Operand],
        formula: &Formula,
    ) -> Result<()>;
}

/// The inputs of [`NormKernels`].
#[derive(Clone)]
pub struct NormInputs {
    /// `[batch, groups, channels, inner]`
    pub x: Operand,
    /// A factor for each channel.
    pub weight: Option<Operand>,
    /// The bias of each channel.
    pub bias: Option<Operand>,
    /// The mean and the biased variance, if they are given.
    pub statistics: Option<[Operand; 2]>,
}

/// The result of [`NormKernels::forward`].
pub struct Normalized {
    /// The normalized input, in its shape.
    pub output: Storage,
    /// The means and the biased variances in the dtype of the computation, if requested.
    pub statistics: Option<[Storage; 2]>,
    /// The memory that the gradient needs.
    pub saved: Saved,
}

/// The gradients that [`NormKernels::backward`] returns.
pub struct NormGradients {
    /// The gradient of the input.
    pub x: Storage,
    /// The gradient of the weight, if there is one.
    pub weight: Option<Storage>,
    /// The gradient of the bias, if there is one.
    pub bias: Option<Storage>,
}

/// The inputs of [`CrossEntropyKernels`].
#[derive(Clone)]
pub struct CrossEntropyInputs {
    /// The logits, `[outer, classes, inner]`.
    pub x: Operand,
    /// The classes, `[outer, inner]`, as `I64`.
    pub target: Operand,
    /// A weight for each class.
    pub weight: Option<Operand>,
}

/// The inputs of [`AttentionKernels`].
#[derive(Clone)]
pub struct AttentionInputs {
    /// `[batch, length, width]`
    pub query: Operand,
    /// `[batch / repeats, keys, width]`
    pub key: Operand,
    /// `[batch / repeats, keys, value width]`
    pub value: Operand,
    /// Added to the scores: any number of dimensions that multiply to `batch`, then `length` and `keys`.
    pub mask: Option<Operand>,
}

/// The inputs of [`RecurrentKernels`].
#[derive(Clone)]
pub struct RecurrentInputs {
    /// The contribution of the input to each step, `[rows, gates · hidden]`.
    pub gates: Operand,
    /// The first state `h`, `[batch, width]`.
    pub hidden: Operand,
    /// The first state `c` of an LSTM, `[batch, hidden]`.
    pub cell: Option<Operand>,
    /// `[gates · hidden, width]`
    pub weight: Operand,
    /// `[gates · hidden]`
    pub bias: Option<Operand>,
    /// The projection by which an LSTM multiplies the state, `[width, hidden]`.
    pub projection: Option<Operand>,
}

/// The result of [`RecurrentKernels::forward`].
pub struct RecurrentStates {
    /// The states `h′`, `[rows, width]`.
    pub hidden: Storage,
    /// The states `c′` of an LSTM, `[rows, hidden]`.
    pub cell: Option<Storage>,
    /// The memory that the gradient needs.
    pub saved: Saved,
}

/// The parameters whose gradients [`RecurrentKernels::backward`] returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecurrentNeeds {
    /// Whether the weight needs a gradient.
    pub weight: bool,
    /// Whether the bias needs a gradient.
    pub bias: bool,
    /// Whether the projection needs a gradient.
    pub projection: bool,
}

/// The gradients that [`RecurrentKernels::backward`] returns.
pub struct RecurrentGradients {
    /// The gradient of the contribution of the input, `[rows, gates · hidden]`.
    pub gates: Storage,
    /// The gradient of the first state `h`, `[batch, width]`.
    pub hidden: Storage,
    /// The gradient of the first state `c`, `[batch, hidden]`.
    pub cell: Option<Storage>,
    /// The gradient of the weight, `[gates · hidden, width]`.
    pub weight: Option<Storage>,
    /// The gradient of the bias, `[gates · hidden]`.
    pub bias: Option<Storage>,
    /// The gradient of the projection, `[width, hidden]`.
    pub projection: Option<Storage>,
}
