use module_core::{Forward, Maybe, Module, Parameter, Result, Shape, Tensor};

use super::{LayerNorm, LayerNormConfig};
use crate::config::{Build, config};

/// Normalization over the channels of each pixel: a [`LayerNorm`] for images in `[batch, channels, …]` order, as in
/// torchvision's ConvNeXt.
///
/// Source: Liu, Mao, Wu, Feichtenhofer, Darrell and Xie, *A ConvNet for the 2020s* (2022).
///
/// # Shapes
///
/// `[batch, channels, height, width]` to the same.
///
/// # State dict
///
/// `weight` and `bias`, both `[channels]`; except those that the configuration omits.
///
/// # Initialization
///
/// Weight 1, bias 0, without a draw.
///
/// # Errors
///
/// A wrong number of dimensions or of channels, a dtype or device that differs from the weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = LayerNorm2dConfig::new(3).eps(1e-6).build()?;
/// let y = norm.call(Tensor::randn([2, 3, 4, 5], DType::F32)?)?;
/// assert!(y.mean(1)?.abs()?.amax(..)?.item::<f32>()? < 1e-5);
/// assert!(norm.weight().is_present());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct LayerNorm2d {
    #[module(flatten)]
    norm: LayerNorm,
}

config! {
    /// The arguments of [`LayerNorm2d`], which are those of [`LayerNorm`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = LayerNorm2dConfig::new(2).eps(0.0).elementwise_affine(false).build()?;
    /// let x = Tensor::from([1.0_f32, 3.0]).reshape([1, 2, 1, 1])?;
    /// assert_eq!(norm.call(x)?.to_vec::<f32>()?, [-1.0, 1.0]);
    /// assert_eq!(LayerNorm2dConfig::new(2).bias(false).build()?.num_parameters(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LayerNorm2dConfig => LayerNorm2d {
        required {
            /// The number of channels.
            normalized_shape: Shape,
        }
        optional {
            /// Added to the variance.
            eps: f64 = 1e-5,
            /// Whether a scale and a shift are learned.
            elementwise_affine: bool = true,
            /// Whether `elementwise_affine` includes the shift.
            bias: bool = true,
        }
    }
}

impl Build for LayerNorm2dConfig {
    type Output = LayerNorm2d;

    /// A layer with fresh parameters.
    ///
    /// # Errors
    ///
    /// Those of [`LayerNormConfig::build`].
    fn build(&self) -> Result<LayerNorm2d> {
        let norm = LayerNormConfig::new(self.normalized_shape.clone())
            .eps(self.eps)
            .elementwise_affine(self.elementwise_affine)
            .bias(self.bias)
            .build()?;
        Ok(LayerNorm2d { norm })
    }
}

impl LayerNorm2d {
    /// The scale, `normalized_shape`, if the layer has one.
    pub fn weight(&self) -> &Maybe<Parameter> {
        self.norm.weight()
    }

    /// The shift, `normalized_shape`, if the layer has one.
    pub fn bias(&self) -> &Maybe<Parameter> {
        self.norm.bias()
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.norm.extra_repr(f)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LayerNorm2dConfig {
        let LayerNormConfig {
            normalized_shape,
            eps,
            elementwise_affine,
            bias,
        } = self.norm.config();
        LayerNorm2dConfig {
            normalized_shape,
            eps: *eps,
            elementwise_affine,
            bias,
        }
    }
}

impl Forward for LayerNorm2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        if input.rank() != 4 {
            let expected = "[batch, channels, height, width]";
            return Err(input.shape().error("LayerNorm2d", expected));
        }
        let last = input.permute([0, 2, 3, 1])?;
        self.norm.forward(last)?.permute([0, 3, 1, 2])
    }
}
