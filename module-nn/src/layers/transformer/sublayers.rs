//! Code that encoder and decoder layers share: how their parts are built and run.

use module_core::{Call, Result, Tensor};

use super::TransformerActivation;
use super::feedforward::Feedforward;
use crate::layers::{
    Dropout, LayerNorm, LayerNormConfig, MultiheadAttention, MultiheadAttentionConfig,
};

/// The arguments that determine the structure of a layer.
pub(super) struct Sublayers<'a> {
    pub(super) d_model: usize,
    pub(super) nhead: usize,
    pub(super) dim_feedforward: usize,
    pub(super) dropout: f64,
    pub(super) activation: &'a TransformerActivation,
    pub(super) layer_norm_eps: f64,
    pub(super) batch_first: bool,
    pub(super) bias: bool,
}

impl Sublayers<'_> {
    pub(super) fn attention(&self) -> Result<MultiheadAttention> {
        MultiheadAttentionConfig::new(self.d_model, self.nhead)
            .dropout(self.dropout)
            .bias(self.bias)
            .batch_first(self.batch_first)
            .build()
    }

    pub(super) fn feedforward(&self) -> Result<Feedforward> {
        let sizes = [self.d_model, self.dim_feedforward];
        Feedforward::new(sizes, self.dropout, self.activation, self.bias)
    }

    pub(super) fn norm(&self) -> Result<LayerNorm> {
        LayerNormConfig::new(self.d_model)
            .eps(self.layer_norm_eps)
            .bias(self.bias)
            .build()
    }

    pub(super) fn dropout(&self) -> Result<Dropout> {
        Dropout::new(self.dropout)
    }
}

/// A sublayer with its residual connection and its normalization: `norm(x + sublayer(x))`, with `norm_first`
/// `x + sublayer(norm(x))`.
pub(super) fn run_sublayer(
    norm_first: bool,
    x: Tensor,
    norm: &LayerNorm,
    sublayer: impl FnOnce(Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    match norm_first {
        true => x.add(&sublayer(norm.call(x.clone())?)?),
        false => norm.call(x.add(&sublayer(x.clone())?)?),
    }
}
