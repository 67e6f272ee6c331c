//! Kernels that do several steps at once, family by family: what a device may have, and what they read and
//! return.

use super::{
    AttentionGeometry, CrossEntropyGeometry, NormGeometry, Operand, RecurrentGeometry, Saved,
    SoftmaxOp, Storage,
};
use crate::{DType, Result};

/// The gradient of softmax, and `ln Σ eˣ`: of half precision computed in `F32`. Kernels fail as
/// [`Backend::unary`](super::Backend::unary).
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
}

/// Normalization. Kernels fail as [`Backend::unary`](super::Backend::unary).
pub trait NormKernels {
    /// The normalized elements in the dtype of `x`, and the statistics if they are asked for.
    fn forward(&self, inputs: NormInputs, geometry: &NormGeometry) -> Result<Normalized>;

    /// The gradients, from what [`forward`](Self::forward) saved of the same inputs.
    fn backward(
        &self,
        grad: Operand,
        inputs: NormInputs,
        saved: &Saved,
        geometry: &NormGeometry,
    ) -> Result<NormGradients>;
}

/// Cross-entropy of logits and classes. Kernels fail as [`Backend::unary`](super::Backend::unary), and
/// of a class that is out of range.
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

/// Attention. Kernels fail as [`Backend::unary`](super::Backend::unary).
pub trait AttentionKernels {
    /// `softmax(query · keyᵀ · scale + mask) · value`, in the dtype of the query. A row that is masked
    /// entirely is 0.
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

/// The steps of recurrent layers. Kernels fail as [`Backend::unary`](super::Backend::unary).
pub trait RecurrentKernels {
    /// The states after each step, in the dtype of the gates.
    fn forward(
        &self,
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentStates>;

    /// The gradients, of the parameters those that are `needed`, from the gradients of the states
    /// `h′` and `c′`: none where nothing used them.
    fn backward(
        &self,
        grads: [Option<Operand>; 2],
        inputs: RecurrentInputs,
        saved: &Saved,
        needed: RecurrentNeeds,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentGradients>;
}

/// The step of AdamW. It fails as [`Backend::unary`](super::Backend::unary).
pub trait AdamWKernels {
    /// Whether there is a step for parameters of a dtype. What is not served is composed of other
    /// operations, with a rounding after each of PyTorch's.
    fn serves(&self, dtype: DType) -> bool;

    /// Moves a parameter. It and the moments, which have its dtype, are changed where they lie, or replaced
    /// where other handles share their memory; an error leaves them as they were.
    fn step(&self, memory: AdamWMemory<'_>, grad: Operand, step: &AdamWStep) -> Result<()>;
}

/// The step of SGD. It fails as [`Backend::unary`](super::Backend::unary).
pub trait SGDKernels {
    /// Whether there is a step for parameters of a dtype, as [`AdamWKernels::serves`].
    fn serves(&self, dtype: DType) -> bool;

    /// Moves a parameter. It and the momentum, which has its dtype, are changed where they lie, or replaced
    /// where other handles share their memory; an error leaves them as they were.
    fn step(&self, memory: SGDMemory<'_>, grad: Operand, step: &SGDStep) -> Result<()>;
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
    /// The means and the biased variances in the dtype of the computation, if they are asked for.
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

/// The memory that [`AdamWKernels`] changes: all of it begins with as many elements as the parameter has, in
/// the same order.
pub struct AdamWMemory<'a> {
    /// The parameter.
    pub value: &'a mut Storage,
    /// The first moment.
    pub exp_avg: &'a mut Storage,
    /// The second moment.
    pub exp_avg_sq: &'a mut Storage,
    /// The greatest second moment so far, with AMSGrad only.
    pub max_exp_avg_sq: Option<&'a mut Storage>,
}

/// The numbers of one step of AdamW, with PyTorch's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamWStep {
    /// The learning rate.
    pub lr: f64,
    /// The decay rates of the first and the second moment.
    pub betas: (f64, f64),
    /// The number that is added to the root of the second moment.
    pub eps: f64,
    /// The weight decay, which is multiplied by the learning rate.
    pub weight_decay: f64,
    /// Whether to climb instead of to descend.
    pub maximize: bool,
    /// The number of the step; the first is 1.
    pub step: u64,
}

impl AdamWStep {
    /// The factor `w` of the first moment, `m + w·(g - m)`, and whether it is `g + w·(g - m)`, which
    /// rounds less where the gradient is the larger part.
    pub fn lerp(&self) -> (f64, bool) {
        let part = 1.0 - self.betas.0;
        if part < 0.5 {
            (part, false)
        } else {
            (part - 1.0, true)
        }
    }

    /// The factor by which the parameter is multiplied first.
    pub fn decay(&self) -> f64 {
        1.0 - self.lr * self.weight_decay
    }

    /// The rate over the correction of the first moment, `γ / (1 - β₁ᵗ)`.
    pub fn step_size(&self) -> f64 {
        self.lr / (1.0 - self.betas.0.powf(self.step as f64))
    }

    /// The root of the correction of the second moment, `√(1 - β₂ᵗ)`.
    pub fn root_correction(&self) -> f64 {
        (1.0 - self.betas.1.powf(self.step as f64)).sqrt()
    }
}

/// The memory that [`SGDKernels`] changes: all of it begins with as many elements as the parameter has, in
/// the same order.
pub struct SGDMemory<'a> {
    /// The parameter.
    pub value: &'a mut Storage,
    /// The momentum; none where [`SGDStep::momentum`] is 0.
    pub momentum_buffer: Option<&'a mut Storage>,
    /// Whether the momentum begins with this gradient: what its memory holds is not read.
    pub is_first: bool,
}

/// The numbers of one step of SGD, with PyTorch's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SGDStep {
    /// The learning rate.
    pub lr: f64,
    /// The factor of the momentum.
    pub momentum: f64,
    /// How much less of a gradient enters the momentum.
    pub dampening: f64,
    /// The factor by which the parameter is added to its gradient.
    pub weight_decay: f64,
    /// Whether the step looks ahead along the momentum.
    pub nesterov: bool,
    /// Whether to climb instead of to descend.
    pub maximize: bool,
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
    /// What is added to the scores: any number of dimensions that multiply to `batch`, then
    /// `length` and `keys`.
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
