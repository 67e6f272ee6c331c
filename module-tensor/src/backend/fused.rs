//! What the kernels that do several steps at once read and return.

use super::{Operand, Storage};

/// What [`Backend::normalise`](super::Backend::normalise) reads.
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

/// What [`Backend::normalise`](super::Backend::normalise) returns.
pub struct Normalised {
    /// In the shape of the input.
    pub output: Storage,
    /// The means as `F64`.
    pub mean: Storage,
    /// The biased variances as `F64`.
    pub var: Storage,
}

/// What [`Backend::cross_entropy`](super::Backend::cross_entropy) reads.
#[derive(Clone)]
pub struct CrossEntropyInputs {
    /// The logits, `[outer, classes, inner]`, as `F32` or `F64`.
    pub x: Operand,
    /// The classes, `[outer, inner]`, as `I64`.
    pub target: Operand,
    /// A weight for each class.
    pub weight: Option<Operand>,
}

/// What [`Backend::adamw`](super::Backend::adamw) changes: memory that begins with as many elements
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

/// What [`Backend::attention`](super::Backend::attention) reads, as `F32` or `F64`.
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

/// What [`Backend::recurrent`](super::Backend::recurrent) reads, as `F32` or `F64`.
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

/// What [`Backend::recurrent_backward`](super::Backend::recurrent_backward) returns: gradients.
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
