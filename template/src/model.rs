//! The network.

use module_nn::prelude::*;

use crate::data::ARMS;

/// A perceptron with two hidden layers.
#[derive(Module)]
pub struct Spirals {
    hidden: Vec<Linear>,
    dropout: Dropout,
    head: Linear,
}

impl Spirals {
    /// With PyTorch's initial weights for the current seed.
    ///
    /// # Errors
    ///
    /// None with these sizes; layers return an error if one is 0.
    pub fn new() -> Result<Self> {
        Ok(Self {
            hidden: vec![Linear::new(2, 64)?, Linear::new(64, 64)?],
            dropout: Dropout::new(0.05)?,
            head: Linear::new(64, ARMS)?,
        })
    }
}

impl Forward for Spirals {
    type Output = Tensor;

    fn forward(&self, mut x: Tensor) -> Result<Tensor> {
        for layer in &self.hidden {
            x = layer.call(x)?.relu()?;
        }
        self.head.call(self.dropout.call(x)?)
    }
}
