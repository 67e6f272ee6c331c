use std::fmt;

use module_core::module::{Number, Repr};
use module_core::{Error, Forward, Maybe, Module, Parameter, Result, Tensor};

use super::parts::optional_part;
use crate::config::{Build, check_between, check_positive, config};
use crate::init::{ones, zeros};

/// Normalization of groups of channels, separately for each element of the batch:
/// `y = (x - E[x]) / √(Var[x] + eps) · weight + bias`, with the mean and the biased variance over
/// `num_channels / num_groups` channels.
///
/// Source: Wu and He, *Group Normalization* (2018).
///
/// # Shapes
///
/// `[batch, num_channels, …]` to the same.
///
/// # State dict
///
/// `weight` and `bias`, both `[num_channels]`; except those that the configuration omits.
///
/// # Initialization
///
/// Weight 1, bias 0, without a draw.
///
/// # Errors
///
/// Fewer than two dimensions, another number of channels, a single value to normalize.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = GroupNorm::new(2, 6)?;
/// let y = norm.call(Tensor::randn([4, 6, 5, 5], DType::F32)?)?;
/// assert!(y.mean(..)?.item::<f32>()?.abs() < 1e-5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct GroupNorm {
    #[module(skip)]
    config: GroupNormConfig,
    weight: Maybe<Parameter>,
    bias: Maybe<Parameter>,
}

config! {
    /// The arguments of [`GroupNorm`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = GroupNormConfig::new(1, 2).eps(0.0).affine(false).build()?;
    /// let y = norm.call(Tensor::from([[1.0_f32, 3.0]]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 1.0]);
    /// let norm = GroupNormConfig::new(2, 6).bias(false).build()?;
    /// assert_eq!(norm.state_dict()?.keys().collect::<Vec<_>>(), ["weight"]);
    ///
    /// // From existing parameters.
    /// let parameter = |value: f64| Parameter::new(Tensor::full([2], value, DType::F32)?);
    /// let norm = GroupNormConfig::new(1, 2).eps(0.0).from_parts(parameter(2.0)?, parameter(1.0)?)?;
    /// assert_eq!(norm.call(Tensor::from([[1.0_f32, 3.0]]))?.to_vec::<f32>()?, [-1.0, 3.0]);
    /// assert_eq!(norm.weight().get().unwrap().tensor().to_vec::<f32>()?, [2.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GroupNormConfig => GroupNorm {
        required {
            /// The number of groups; it divides the number of channels.
            num_groups: usize,
            /// The number of channels.
            num_channels: usize,
        }
        optional {
            /// Added to the variance.
            eps: Number = 1e-5,
            /// Whether a scale and a shift are learned.
            affine: bool = true,
            /// Whether `affine` includes the shift.
            bias: bool = true,
        }
    }
}

impl Build for GroupNormConfig {
    type Output = GroupNorm;

    /// A layer with fresh parameters.
    ///
    /// # Errors
    ///
    /// No groups or channels, channels that the groups do not divide, an `eps` below 0.
    fn build(&self) -> Result<GroupNorm> {
        let (channels, affine) = (self.check()?, self.affine);
        Ok(GroupNorm {
            config: self.clone(),
            weight: Maybe::when(affine, || Parameter::with_init(channels, ones()))?,
            bias: Maybe::when(affine && self.bias, || {
                Parameter::with_init(channels, zeros())
            })?,
        })
    }
}

impl GroupNormConfig {
    /// A layer made from existing parameters.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), parameters of another shape, missing ones, and those that `affine` and `bias`
    /// exclude.
    pub fn from_parts(
        &self,
        weight: impl Into<Maybe<Parameter>>,
        bias: impl Into<Maybe<Parameter>>,
    ) -> Result<GroupNorm> {
        let (channels, affine) = (self.check()?, self.affine);
        let (weight, bias) = (weight.into(), bias.into());
        Ok(GroupNorm {
            config: self.clone(),
            weight: optional_part("GroupNorm", "weight", affine, weight, channels)?,
            bias: optional_part("GroupNorm", "bias", affine && self.bias, bias, channels)?,
        })
    }

    /// The number of channels.
    fn check(&self) -> Result<usize> {
        let (groups, channels) = (self.num_groups, self.num_channels);
        check_positive("GroupNorm", "num_groups", groups)?;
        check_positive("GroupNorm", "num_channels", channels)?;
        check_between("GroupNorm", "eps", *self.eps, [0.0, f64::INFINITY])?;
        if channels % groups != 0 {
            let problem = format!("must be divisible by num_groups = {groups}");
            return Err(Error::argument(
                "GroupNorm",
                "num_channels",
                channels,
                problem,
            ));
        }
        Ok(channels)
    }
}

impl GroupNorm {
    /// The scale, `[num_channels]`, if the layer has one.
    pub fn weight(&self) -> &Maybe<Parameter> {
        &self.weight
    }

    /// The shift, `[num_channels]`, if the layer has one.
    pub fn bias(&self) -> &Maybe<Parameter> {
        &self.bias
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}, {}, eps={}, affine={}, bias={}",
            self.config.num_groups,
            self.config.num_channels,
            Repr(&self.config.eps),
            Repr(&self.config.affine),
            Repr(&self.bias.is_present()),
        )
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> GroupNormConfig {
        self.config.clone()
    }
}

impl Forward for GroupNorm {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let channels = self.config.num_channels;
        if input.shape().get(1) != Some(&channels) {
            let expected = format!("[batch, {channels}, …]");
            return Err(input.shape().error("group_norm", expected));
        }
        let weight = self.weight.get().map(Parameter::tensor);
        let bias = self.bias.get().map(Parameter::tensor);
        let (groups, eps) = (self.config.num_groups, *self.config.eps);
        input.group_norm(groups, weight.as_ref(), bias.as_ref(), eps)
    }
}
