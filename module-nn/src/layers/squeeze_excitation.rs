use module_core::{Call, Forward, Layer, Module, Result, Tensor};

use super::{ActivationLayer, AdaptiveAvgPool2d, Conv2d};
use crate::config::{Build, config};

/// A weight for each channel, computed from the means of all channels: torchvision's `SqueezeExcitation`.
///
/// ```text
/// y = x · σ(W₂ δ(W₁ mean(x) + b₁) + b₂)
/// ```
///
/// Source: Hu, Shen, Albanie, Sun and Wu, *Squeeze-and-Excitation Networks* (2018).
///
/// # Shapes
///
/// `[batch, channels, height, width]`, or without the batch, to the same.
///
/// # State dict
///
/// `fc1.weight` `[squeeze_channels, input_channels, 1, 1]`, `fc1.bias`, `fc2.weight`
/// `[input_channels, squeeze_channels, 1, 1]`, `fc2.bias`.
///
/// # Initialization
///
/// Those of [`Conv2d`], `fc1` first.
///
/// # Errors
///
/// A wrong number of dimensions or of channels.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let block = SqueezeExcitation::new(16, 4)?;
/// let x = Tensor::randn([2, 16, 5, 5], DType::F32)?;
/// assert_eq!(block.call(x.clone())?.shape(), x.shape());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct SqueezeExcitation {
    #[module(skip)]
    config: SqueezeExcitationConfig,
    avgpool: AdaptiveAvgPool2d,
    fc1: Conv2d,
    fc2: Conv2d,
    activation: Box<dyn Layer>,
    scale_activation: Box<dyn Layer>,
}

config! {
    /// The arguments of [`SqueezeExcitation`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // As in MobileNetV3.
    /// let config = SqueezeExcitationConfig::new(16, 4)
    ///     .activation(ActivationLayer::ReLU)
    ///     .scale_activation(ActivationLayer::Hardsigmoid);
    /// let block = config.build()?;
    /// assert!(block.tree().to_string().contains("(scale_activation): Hardsigmoid()"));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SqueezeExcitationConfig => SqueezeExcitation {
        required {
            /// The number of channels of the input.
            input_channels: usize,
            /// The number of hidden channels.
            squeeze_channels: usize,
        }
        optional {
            /// The hidden activation δ.
            activation: ActivationLayer = ActivationLayer::ReLU,
            /// The activation σ of the weights.
            scale_activation: ActivationLayer = ActivationLayer::Sigmoid,
        }
    }
}

impl Build for SqueezeExcitationConfig {
    type Output = SqueezeExcitation;

    /// A block with fresh weights.
    ///
    /// # Errors
    ///
    /// No channels, sizes that exceed memory.
    fn build(&self) -> Result<SqueezeExcitation> {
        let (inputs, squeezed) = (self.input_channels, self.squeeze_channels);
        Ok(SqueezeExcitation {
            config: self.clone(),
            avgpool: AdaptiveAvgPool2d::new(1)?,
            fc1: Conv2d::new(inputs, squeezed, 1)?,
            fc2: Conv2d::new(squeezed, inputs, 1)?,
            activation: self.activation.build()?,
            scale_activation: self.scale_activation.build()?,
        })
    }
}

impl SqueezeExcitation {
    /// The arguments that it was built from.
    pub fn config(&self) -> SqueezeExcitationConfig {
        self.config.clone()
    }
}

impl Forward for SqueezeExcitation {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let scale = self.fc1.call(self.avgpool.call(input.clone())?)?;
        let scale = self.fc2.call(self.activation.call(scale)?)?;
        self.scale_activation.call(scale)?.mul(&input)
    }
}
