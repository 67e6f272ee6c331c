use module_core::{Call, Module, Result, Tensor};

use super::TransformerActivation;
use crate::layers::{Dropout, Linear, LinearConfig};

/// The feed-forward network of a transformer layer, applied to each element separately; the layers flatten it into
/// themselves.
#[derive(Module)]
#[module(debug)]
pub(super) struct Feedforward {
    linear1: Linear,
    dropout: Dropout,
    linear2: Linear,
    #[module(skip)]
    activation: TransformerActivation,
}

impl Feedforward {
    pub(super) fn new(
        [d_model, dim_feedforward]: [usize; 2],
        dropout: f64,
        activation: &TransformerActivation,
        bias: bool,
    ) -> Result<Self> {
        let linear = |from, to| LinearConfig::new(from, to).bias(bias).build();
        Ok(Self {
            linear1: linear(d_model, dim_feedforward)?,
            dropout: Dropout::new(dropout)?,
            linear2: linear(dim_feedforward, d_model)?,
            activation: activation.clone(),
        })
    }

    pub(super) fn run(&self, x: Tensor) -> Result<Tensor> {
        let hidden = self.activation.apply(&self.linear1.call(x)?)?;
        self.linear2.call(self.dropout.call(hidden)?)
    }
}
