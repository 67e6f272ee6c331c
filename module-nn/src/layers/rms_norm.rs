use std::fmt;

use module_core::module::{Number, Repr};
use module_core::{Forward, Maybe, Module, Parameter, Result, Shape, Tensor};

use super::layer_norm::{check, tuple};
use super::parts::optional_part;
use crate::config::{Build, config};
use crate::init::ones;
use crate::lora::{Adaptable, Adapters};

/// Divides by the root mean square over the last dimensions: `y = x / √(⟨x²⟩ + eps) · weight`.
///
/// The default `eps` is the machine epsilon of the dtype, that of `f32` for half precision.
///
/// Source: Zhang and Sennrich, *Root Mean Square Layer Normalization* (2019).
///
/// # Shapes
///
/// `[…, normalized_shape]` to the same.
///
/// # State dict
///
/// `weight`, `normalized_shape`, unless `elementwise_affine` is false.
///
/// # Initialization
///
/// 1, without a draw.
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
/// let y = RMSNorm::new(2)?.call(Tensor::from([1.0_f32, 7.0]))?;
/// assert!((y.to_vec::<f32>()?[1] - 1.4).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct RMSNorm {
    #[module(skip)]
    config: RMSNormConfig,
    weight: Maybe<Parameter>,
    #[module(flatten)]
    adapters: Adapters,
}

config! {
    /// The arguments of [`RMSNorm`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = RMSNormConfig::new(2).eps(1e-6).elementwise_affine(false).build()?;
    /// assert_eq!(norm.num_parameters(), 0);
    /// let weight = Parameter::new(Tensor::from([1.0_f32, 10.0]))?;
    /// let norm = RMSNormConfig::new(2).eps(0.0).from_parts(Maybe::from(weight))?;
    /// assert_eq!(norm.call(Tensor::from([2.0_f32, 2.0]))?.to_vec::<f32>()?, [1.0, 10.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct RMSNormConfig => RMSNorm {
        required {
            /// The last sizes of the input: one, or a list.
            normalized_shape: Shape,
        }
        optional {
            /// Added to the mean square; by default the epsilon of the dtype.
            eps: Option<Number> = None,
            /// Whether a scale is learned.
            elementwise_affine: bool = true,
        }
    }
}

impl Build for RMSNormConfig {
    type Output = RMSNorm;

    /// A layer with fresh parameters.
    ///
    /// # Errors
    ///
    /// No size, an `eps` below 0, sizes that exceed memory.
    fn build(&self) -> Result<RMSNorm> {
        let shape = &self.normalized_shape;
        check("RMSNorm", shape, self.eps.map_or(0.0, Number::get))?;
        let weight = || Parameter::with_init(shape, ones());
        Ok(self.with_weight(Maybe::when(self.elementwise_affine, weight)?))
    }
}

impl RMSNormConfig {
    /// A layer made from an existing parameter.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), a parameter of another shape, one that is missing, or given although
    /// `elementwise_affine` is false.
    pub fn from_parts(&self, weight: impl Into<Maybe<Parameter>>) -> Result<RMSNorm> {
        let (shape, affine) = (&self.normalized_shape, self.elementwise_affine);
        check("RMSNorm", shape, self.eps.map_or(0.0, Number::get))?;
        let weight = optional_part("RMSNorm", "weight", affine, weight.into(), shape)?;
        Ok(self.with_weight(weight))
    }

    fn with_weight(&self, weight: Maybe<Parameter>) -> RMSNorm {
        RMSNorm {
            config: self.clone(),
            weight,
            adapters: Adapters::new(Adaptable::Copied),
        }
    }
}

impl RMSNorm {
    /// The scale, `normalized_shape`, if the layer has one.
    pub fn weight(&self) -> &Maybe<Parameter> {
        &self.weight
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, eps=", tuple(&self.config.normalized_shape))?;
        match &self.config.eps {
            Some(eps) => write!(f, "{}", Repr(eps))?,
            None => f.write_str("None")?,
        }
        let affine = Repr(&self.config.elementwise_affine);
        write!(f, ", elementwise_affine={affine}")
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> RMSNormConfig {
        self.config.clone()
    }
}

impl Forward for RMSNorm {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let (weight, _) = self.adapters.own(&self.weight, &Maybe::Absent);
        let shape = &self.config.normalized_shape;
        input.rms_norm(shape, weight.as_ref(), self.config.eps.map(Number::get))
    }
}
