use module_core::{Layer, Result};
use serde::{Deserialize, Serialize};

use super::{
    BatchNorm2d, ELUConfig, GELUConfig, Hardsigmoid, Hardswish, LayerNorm2d, LeakyReLUConfig, Mish,
    ReLU, ReLU6, SiLU, Sigmoid, Tanh,
};

/// An activation by PyTorch's name, with its defaults, for configurations that name the type of a layer.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let activation = ActivationLayer::SiLU.build()?;
/// assert_eq!(activation.call(Tensor::from([0.0_f32]))?.item::<f32>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActivationLayer {
    /// [`ELU`](super::ELU).
    ELU,
    /// [`GELU`](super::GELU).
    GELU,
    /// [`Hardsigmoid`].
    Hardsigmoid,
    /// [`Hardswish`].
    Hardswish,
    /// [`LeakyReLU`](super::LeakyReLU).
    LeakyReLU,
    /// [`Mish`].
    Mish,
    /// [`ReLU`].
    ReLU,
    /// [`ReLU6`].
    ReLU6,
    /// [`SiLU`].
    SiLU,
    /// [`Sigmoid`].
    Sigmoid,
    /// [`Tanh`].
    Tanh,
}

impl ActivationLayer {
    /// The layer.
    ///
    /// # Errors
    ///
    /// None for these activations.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let activation = ActivationLayer::ReLU.build()?;
    /// assert_eq!(activation.call(Tensor::from([-1.0_f32, 2.0]))?.to_vec::<f32>()?, [0.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn build(self) -> Result<Box<dyn Layer>> {
        Ok(match self {
            Self::ELU => Box::new(ELUConfig::new().build()?),
            Self::GELU => Box::new(GELUConfig::new().build()?),
            Self::Hardsigmoid => Box::new(Hardsigmoid::new()),
            Self::Hardswish => Box::new(Hardswish::new()),
            Self::LeakyReLU => Box::new(LeakyReLUConfig::new().build()?),
            Self::Mish => Box::new(Mish::new()),
            Self::ReLU => Box::new(ReLU::new()),
            Self::ReLU6 => Box::new(ReLU6::new()),
            Self::SiLU => Box::new(SiLU::new()),
            Self::Sigmoid => Box::new(Sigmoid::new()),
            Self::Tanh => Box::new(Tanh::new()),
        })
    }
}

/// A normalization by its name, with its defaults, for configurations that name the type of a layer.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let block = Conv2dNormActivationConfig::new(3, 8).norm_layer(NormLayer::LayerNorm2d).build()?;
/// assert_eq!(block.call(Tensor::randn([2, 3, 4, 4], DType::F32)?)?.shape().to_string(), "[2, 8, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NormLayer {
    /// [`BatchNorm2d`].
    BatchNorm2d,
    /// [`LayerNorm2d`].
    LayerNorm2d,
}

impl NormLayer {
    /// The layer for this number of channels.
    pub(super) fn build(self, channels: usize) -> Result<Box<dyn Layer>> {
        Ok(match self {
            Self::BatchNorm2d => Box::new(BatchNorm2d::new(channels)?),
            Self::LayerNorm2d => Box::new(LayerNorm2d::new(channels)?),
        })
    }
}
