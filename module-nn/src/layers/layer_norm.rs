use std::fmt;

use module_core::module::{Number, Repr};
use module_core::{Bias, Error, Forward, Maybe, Module, Parameter, Result, Shape, Tensor};

use super::parts::optional_part;
use crate::config::{Build, check_between, config};
use crate::init::{ones, zeros};
use crate::lora::{Adaptable, Adapters};

/// Normalization over the last dimensions: `y = (x - E[x]) / √(Var[x] + eps) · weight + bias`, with
/// the mean and the biased variance over the dimensions of `normalized_shape`.
///
/// Source: Ba, Kiros and Hinton, *Layer Normalization* (2016).
///
/// # Shapes
///
/// `[…, normalized_shape]` to the same.
///
/// # State dict
///
/// `weight` and `bias`, both `normalized_shape`; except those that the configuration omits.
///
/// # Initialization
///
/// Weight 1, bias 0, without a draw.
///
/// # Errors
///
/// An input that does not end with the normalized shape, a dtype or device that differs from the weight's.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = LayerNorm::new([3, 4])?;
/// let y = norm.call(Tensor::randn([2, 3, 4], DType::F32)?)?;
/// assert!(y.mean(..)?.item::<f32>()?.abs() < 1e-5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct LayerNorm {
    #[module(skip)]
    config: LayerNormConfig,
    weight: Maybe<Parameter>,
    bias: Maybe<Parameter>,
    #[module(flatten)]
    adapters: Adapters,
}

config! {
    /// The arguments of [`LayerNorm`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = LayerNormConfig::new(2).eps(0.0).elementwise_affine(false).build()?;
    /// assert_eq!(norm.call(Tensor::from([1.0_f32, 3.0]))?.to_vec::<f32>()?, [-1.0, 1.0]);
    /// let norm = LayerNormConfig::new([3, 4]).bias(false).build()?;
    /// assert_eq!(norm.state_dict()?.keys().collect::<Vec<_>>(), ["weight"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LayerNormConfig => LayerNorm {
        required {
            /// The last sizes of the input: one, or a list.
            normalized_shape: Shape,
        }
        optional {
            /// Added to the variance.
            eps: Number = 1e-5,
            /// Whether a scale and a shift are learned.
            elementwise_affine: bool = true,
            /// Whether `elementwise_affine` includes the shift.
            bias: bool = true,
        }
    }
}

impl Build for LayerNormConfig {
    type Output = LayerNorm;

    /// A layer with fresh parameters.
    ///
    /// # Errors
    ///
    /// No size, an `eps` below 0, sizes that exceed memory.
    fn build(&self) -> Result<LayerNorm> {
        let shape = &self.normalized_shape;
        check("LayerNorm", shape, *self.eps)?;
        let affine = self.elementwise_affine;
        let weight = Maybe::when(affine, || Parameter::with_init(shape, ones()))?;
        let bias = Maybe::when(affine && self.bias, || Parameter::with_init(shape, zeros()))?;
        Ok(self.with_parameters(weight, bias))
    }
}

impl LayerNormConfig {
    /// A layer made from existing parameters.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), parameters of another shape, missing ones, and those that `elementwise_affine` and
    /// `bias` exclude.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let weight = Parameter::new(Tensor::from([2.0_f32, 2.0]))?;
    /// let norm = LayerNormConfig::new(2).eps(0.0).bias(false).from_parts(weight, Bias::Absent)?;
    /// assert_eq!(norm.call(Tensor::from([1.0_f32, 3.0]))?.to_vec::<f32>()?, [-2.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_parts(
        &self,
        weight: impl Into<Maybe<Parameter>>,
        bias: impl Into<Bias>,
    ) -> Result<LayerNorm> {
        let (shape, affine) = (&self.normalized_shape, self.elementwise_affine);
        check("LayerNorm", shape, *self.eps)?;
        let (weight, bias) = (weight.into(), bias.into());
        let weight = optional_part("LayerNorm", "weight", affine, weight, shape)?;
        let bias = optional_part("LayerNorm", "bias", affine && self.bias, bias, shape)?;
        Ok(self.with_parameters(weight, bias))
    }

    fn with_parameters(&self, weight: Maybe<Parameter>, bias: Bias) -> LayerNorm {
        LayerNorm {
            config: self.clone(),
            weight,
            bias,
            adapters: Adapters::new(Adaptable::Copied),
        }
    }
}

/// Refuses an empty normalized shape, and an `eps` below 0.
pub(super) fn check(layer: &'static str, shape: &Shape, eps: f64) -> Result<()> {
    if shape.rank() == 0 {
        let problem = "must have at least one size";
        return Err(Error::argument(layer, "normalized_shape", shape, problem));
    }
    check_between(layer, "eps", eps, [0.0, f64::INFINITY])
}

/// A shape as Python prints a tuple.
pub(super) fn tuple(shape: &Shape) -> impl fmt::Display {
    fmt::from_fn(move |f| match &**shape {
        [size] => write!(f, "({size},)"),
        sizes => {
            let sizes: Vec<String> = sizes.iter().map(usize::to_string).collect();
            write!(f, "({})", sizes.join(", "))
        }
    })
}

impl LayerNorm {
    /// The scale, `normalized_shape`, if the layer has one.
    pub fn weight(&self) -> &Maybe<Parameter> {
        &self.weight
    }

    /// The shift, `normalized_shape`, if the layer has one.
    pub fn bias(&self) -> &Maybe<Parameter> {
        &self.bias
    }

    pub(super) fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, eps={}, elementwise_affine={}, bias={}",
            tuple(&self.config.normalized_shape),
            Repr(&self.config.eps),
            Repr(&self.config.elementwise_affine),
            Repr(&self.bias.is_present()),
        )
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LayerNormConfig {
        self.config.clone()
    }
}

impl Forward for LayerNorm {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let (weight, bias) = self.adapters.own(&self.weight, &self.bias);
        let shape = &self.config.normalized_shape;
        input.layer_norm(shape, weight.as_ref(), bias.as_ref(), *self.config.eps)
    }
}
