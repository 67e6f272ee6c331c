use module_core::{Forward, Layer, Module, Result, Sequential, Tensor};

use super::{ActivationLayer, Conv2dConfig, NormLayer, Padding, Sizes};
use crate::config::{Build, config};

/// A convolution, a normalization and an activation in sequence: torchvision's `Conv2dNormActivation`.
///
/// torchvision's `inplace` has no counterpart, because nothing is computed in place.
///
/// # Shapes
///
/// Those of [`Conv2d`](super::Conv2d).
///
/// # State dict
///
/// `0.weight`, and `0.bias` if there is no normalization; `1.*` of the normalization.
///
/// # Initialization
///
/// Those of the layers, in order.
///
/// # Errors
///
/// Those of the layers.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let stem = Conv2dNormActivationConfig::new(3, 16)
///     .stride(2)
///     .activation_layer(ActivationLayer::Hardswish)
///     .build()?;
/// let y = stem.call(Tensor::zeros([1, 3, 32, 32], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[1, 16, 16, 16]");
/// assert_eq!(stem.layers().len(), 3);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Conv2dNormActivation {
    #[module(flatten)]
    layers: Sequential,
    #[module(skip)]
    config: Conv2dNormActivationConfig,
}

config! {
    /// The arguments of [`Conv2dNormActivation`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // A depthwise convolution with a kernel that covers 5 by 5 pixels, which keeps the size.
    /// let block: Conv2dNormActivation = Conv2dNormActivationConfig::new(8, 8)
    ///     .kernel_size(3)
    ///     .dilation(2)
    ///     .groups(8)
    ///     .norm_layer(None)
    ///     .activation_layer(ActivationLayer::SiLU)
    ///     .build()?;
    /// let y = block.call(Tensor::zeros([1, 8, 6, 6], DType::F32)?)?;
    /// assert_eq!((y.shape().to_string().as_str(), block.out_channels()), ("[1, 8, 6, 6]", 8));
    /// assert_eq!(block.state_dict()?.keys().collect::<Vec<_>>(), ["0.weight", "0.bias"]);
    /// let config = Conv2dNormActivationConfig::new(3, 8).padding(Padding::Valid).bias(true);
    /// let y = config.build()?.call(Tensor::zeros([1, 3, 6, 6], DType::F32)?)?;
    /// assert_eq!(y.shape().to_string(), "[1, 8, 4, 4]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct Conv2dNormActivationConfig => Conv2dNormActivation {
        required {
            /// The number of channels of the input.
            in_channels: usize,
            /// The number of channels of the output.
            out_channels: usize,
        }
        optional {
            /// The size of the kernel.
            kernel_size: Sizes<2> = 3,
            /// The step of the kernel.
            stride: Sizes<2> = 1,
            /// The padding; by default, enough to keep the size at a stride of 1.
            padding: Option<Padding<2>> = None,
            /// The number of groups of channels that are convolved separately.
            groups: usize = 1,
            /// The normalization, if there is one.
            norm_layer: Option<NormLayer> = NormLayer::BatchNorm2d,
            /// The activation, if there is one.
            activation_layer: Option<ActivationLayer> = ActivationLayer::ReLU,
            /// The spacing between kernel elements.
            dilation: Sizes<2> = 1,
            /// Whether the convolution has a bias; by default, if there is no normalization.
            bias: Option<bool> = None,
        }
    }
}

impl Build for Conv2dNormActivationConfig {
    type Output = Conv2dNormActivation;

    /// A block with fresh weights.
    ///
    /// # Errors
    ///
    /// Those of [`Conv2dConfig::build`].
    fn build(&self) -> Result<Conv2dNormActivation> {
        let norm = self.norm_layer.map(|norm| norm.build(self.out_channels));
        let activation = self.activation_layer.map(ActivationLayer::build);
        self.build_with(norm.transpose()?, activation.transpose()?)
    }
}

impl Conv2dNormActivationConfig {
    /// A block with your own layers instead of `norm_layer` and `activation_layer`.
    ///
    /// # Errors
    ///
    /// Those of [`Conv2dConfig::build`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = BatchNorm2dConfig::new(8).eps(0.001).momentum(0.01).build()?;
    /// let block = Conv2dNormActivationConfig::new(3, 8).build_with(Some(Box::new(norm)), None)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn build_with(
        &self,
        norm: Option<Box<dyn Layer>>,
        activation: Option<Box<dyn Layer>>,
    ) -> Result<Conv2dNormActivation> {
        let (kernel, dilation) = (self.kernel_size.get(), self.dilation.get());
        let around = |d: usize| (kernel[d].saturating_sub(1) / 2).saturating_mul(dilation[d]);
        let padding = self.padding.unwrap_or([around(0), around(1)].into());
        let conv = Conv2dConfig::new(self.in_channels, self.out_channels, self.kernel_size)
            .stride(self.stride)
            .padding(padding)
            .dilation(self.dilation)
            .groups(self.groups)
            .bias(self.bias.unwrap_or(norm.is_none()))
            .build()?;
        let mut layers = Sequential::new().push(conv);
        for layer in [norm, activation].into_iter().flatten() {
            layers = layers.push(layer);
        }
        let config = self.clone();
        Ok(Conv2dNormActivation { layers, config })
    }
}

impl Conv2dNormActivation {
    /// The number of channels of the output.
    pub fn out_channels(&self) -> usize {
        self.config.out_channels
    }

    /// The layers.
    pub fn layers(&self) -> &Sequential {
        &self.layers
    }

    /// The arguments that it was built from, without the layers passed to [`Conv2dNormActivationConfig::build_with`].
    pub fn config(&self) -> Conv2dNormActivationConfig {
        self.config.clone()
    }
}

impl Forward for Conv2dNormActivation {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.layers.forward(input)
    }
}
