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
