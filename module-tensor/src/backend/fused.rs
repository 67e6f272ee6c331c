//! Kernels that do several steps at once, family by family: what a device may have, and what they read and
//! return.

use super::{
    AttentionGeometry, CrossEntropyGeometry, NormGeometry, Operand, RecurrentGeometry, SoftmaxOp,
    Storage,
};
use crate::Result;

/// The gradient of softmax, and `ln Σ eˣ`. Kernels fail as [`Backend::unary`](super::Backend::unary).
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
    fn logsumexp(&self, x: Operand, dim: usize) -> Result<Storage>;

    /// The gradient of [`logsumexp`](Self::logsumexp) from that of its output `y`.
    fn logsumexp_backward(
        &self,
        grad: Operand,
        x: Operand,
        y: Operand,
        dim: usize,
    ) -> Result<Storage>;
}

/// Normalization of `F32` or `F64`. Kernels fail as [`Backend::unary`](super::Backend::unary).
pub trait NormKernels {
    /// The normalized elements and the statistics.
    fn forward(&self, inputs: NormInputs, geometry: &NormGeometry) -> Result<Normalised>;

    /// The gradients of the input, of the weight and of the bias; the inputs hold the statistics that
    /// [`forward`](Self::forward) returned.
    fn backward(
        &self,
        grad: Operand,
        inputs: NormInputs,
        geometry: &NormGeometry,
    ) -> Result<[Storage; 3]>;
}

/// Cross-entropy of logits and classes. Kernels fail as [`Backend::unary`](super::Backend::unary), and
/// of a class that is out of range.
pub trait CrossEntropyKernels {
    /// The loss of each element, and as `F64` the `ln Σ eˣ` of its logits, for the gradient.
    fn forward(
        &self,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<[Storage; 2]>;

    /// The gradient of the logits; `log` is the second result of [`forward`](Self::forward).
    fn backward(
        &self,
        grad: Operand,
        log: Operand,
        inputs: CrossEntropyInputs,
        geometry: &CrossEntropyGeometry,
    ) -> Result<Storage>;
}

/// Attention. Kernels fail as [`Backend::unary`](super::Backend::unary).
pub trait AttentionKernels {
    /// `softmax(query · keyᵀ · scale + mask) · value`, and as `F64` the `ln Σ eˣ` of each row of the
    /// softmax, for the gradient. A row that is masked entirely is 0.
    fn forward(
        &self,
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 2]>;

    /// The gradients of query, key and value; `outputs` are the results of [`forward`](Self::forward).
    fn backward(
        &self,
        grad: Operand,
        outputs: [Operand; 2],
        inputs: AttentionInputs,
        geometry: &AttentionGeometry,
    ) -> Result<[Storage; 3]>;
}

/// The steps of recurrent layers. Kernels fail as [`Backend::unary`](super::Backend::unary).
pub trait RecurrentKernels {
    /// The states `h′` after each step, `[rows, width]`, then for an LSTM the `c′`, `[rows, hidden]`; and
    /// `[rows, kept · hidden]` that the gradient needs besides.
    fn forward(
        &self,
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<[Storage; 2]>;

    /// The gradients along the steps; `outputs` are the results of [`forward`](Self::forward).
    fn backward(
        &self,
        grad: Operand,
        outputs: [Operand; 2],
        inputs: RecurrentInputs,
        geometry: &RecurrentGeometry,
    ) -> Result<RecurrentSlopes>;
}

/// The step of AdamW. It fails as [`Backend::unary`](super::Backend::unary).
pub trait AdamWKernels {
    /// A parameter, `F32` or `F64`, after a step. The moments are changed where they lie, or replaced where
    /// other handles share their memory; an error leaves them as they were.
    fn step(
        &self,
        value: Operand,
        grad: Operand,
        moments: AdamWMemory<'_>,
        step: &AdamWStep,
    ) -> Result<Storage>;
}

/// What [`NormKernels`] reads.
#[derive(Clone)]
pub struct NormInputs {
    /// `[batch, groups, channels, inner]`
    pub x: Operand,
    /// A factor for each channel.
    pub weight: Option<Operand>,
    /// What is added to each channel.
    pub bias: Option<Operand>,
    /// The mean and the biased variance as `F64`, if they are known already.
    pub statistics: Option<[Operand; 2]>,
}

/// What [`NormKernels`] returns.
pub struct Normalised {
    /// In the shape of the input.
    pub output: Storage,
    /// The means as `F64`.
    pub mean: Storage,
    /// The biased variances as `F64`.
    pub var: Storage,
}

/// What [`CrossEntropyKernels`] reads.
#[derive(Clone)]
pub struct CrossEntropyInputs {
    /// The logits, `[outer, classes, inner]`, as `F32` or `F64`.
    pub x: Operand,
    /// The classes, `[outer, inner]`, as `I64`.
    pub target: Operand,
    /// A weight for each class.
    pub weight: Option<Operand>,
}

/// What [`AdamWKernels`] changes: memory that begins with as many elements
/// as the parameter has, in its order.
pub struct AdamWMemory<'a> {
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
    /// How much of the first and the second moment is kept.
    pub betas: (f64, f64),
    /// What is added to the root of the second moment.
    pub eps: f64,
    /// How much of the parameter decays, times the learning rate.
    pub weight_decay: f64,
    /// Whether to climb instead of to descend.
    pub maximize: bool,
    /// Which step it is; the first is 1.
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

    /// What the parameter is multiplied by first.
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

/// What [`AttentionKernels`] reads, as `F32` or `F64`.
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

/// What [`RecurrentKernels`] reads, as `F32` or `F64`.
#[derive(Clone)]
pub struct RecurrentInputs {
    /// What the input brings to each step, `[rows, gates · hidden]`.
    pub gates: Operand,
    /// The first state `h`, `[batch, width]`.
    pub hidden: Operand,
    /// The first state `c` of an LSTM, `[batch, hidden]`.
    pub cell: Option<Operand>,
    /// `[gates · hidden, width]`
    pub weight: Operand,
    /// `[gates · hidden]`
    pub bias: Option<Operand>,
    /// What an LSTM multiplies the state with, `[width, hidden]`.
    pub projection: Option<Operand>,
}

/// What [`RecurrentKernels::backward`] returns: gradients.
pub struct RecurrentSlopes {
    /// Of the part of the input, `[rows, gates · hidden]`.
    pub gates: Storage,
    /// Of the part of the state, `[rows, gates · hidden]`, if it differs.
    pub sums: Option<Storage>,
    /// Of the states `h′` with all that follows from them, `[rows, width]`, if there is a projection.
    pub states: Option<Storage>,
    /// Of the first state `h`, `[batch, width]`.
    pub hidden: Storage,
    /// Of the first state `c`, `[batch, hidden]`.
    pub cell: Option<Storage>,
}
