use std::fmt;

use module_core::module::Number;
use module_core::{Forward, Maybe, Module, Parameter, Result, Tensor};

use super::channel_norm::{ChannelNorm, ChannelNormArguments};
use super::spatial::{of_dims, sizes};
use crate::config::{Build, config};

/// Instance normalization, separately for each channel of each element of the batch:
/// `y = (x - E[x]) / √(Var[x] + eps) · weight + bias`, with the biased variance.
///
/// With `track_running_stats`, the mean of the elements' statistics, with the unbiased variance, updates running ones in
/// training, and these are used in evaluation.
///
/// [`InstanceNorm1d`], [`InstanceNorm2d`] and [`InstanceNorm3d`] are its aliases.
///
/// Source: Ulyanov, Vedaldi and Lempitsky, *Instance Normalization: The Missing Ingredient for Fast
/// Stylization* (2016).
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, or without the batch, to the same.
///
/// # State dict
///
/// Nothing by default. `weight` and `bias` `[channels]` with `affine`; `running_mean` and `running_var` `[channels]` and
/// `num_batches_tracked`, a zero-dimensional `I64` that stays 0, with `track_running_stats`.
///
/// # Initialization
///
/// Weight and running variance 1, bias and running mean 0, without a draw.
///
/// # Errors
///
/// A wrong number of dimensions; a wrong number of channels, if there are parameters or running statistics; a single value
/// per channel, unless running statistics are used. An empty batch leaves running statistics unchanged, where PyTorch's
/// become NaN.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = InstanceNorm2d::new(8)?;
/// let y = norm.call(Tensor::randn([4, 8, 5, 5], DType::F32)?)?;
/// assert!(y.mean(..)?.item::<f32>()?.abs() < 1e-5);
/// let y = InstanceNorm1d::new(8)?.call(Tensor::randn([8, 5], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[8, 5]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct InstanceNorm<const N: usize> {
    #[module(skip)]
    config: InstanceNormConfig<N>,
    #[module(flatten)]
    norm: ChannelNorm,
}

/// The instance normalization of sequences, [`InstanceNorm`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = InstanceNorm1d::new(2)?;
/// let y = norm.call(Tensor::randn([3, 2, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type InstanceNorm1d = InstanceNorm<1>;

/// The instance normalization of images, [`InstanceNorm`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = InstanceNorm2d::new(2)?;
/// let y = norm.call(Tensor::randn([3, 2, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type InstanceNorm2d = InstanceNorm<2>;

/// The instance normalization of volumes, [`InstanceNorm`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = InstanceNorm3d::new(2)?;
/// let y = norm.call(Tensor::randn([3, 2, 4, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type InstanceNorm3d = InstanceNorm<3>;

config! {
    /// The arguments of [`InstanceNorm`]; those of [`InstanceNorm1d`], [`InstanceNorm2d`] and
    /// [`InstanceNorm3d`] are [`InstanceNorm1dConfig`], [`InstanceNorm2dConfig`] and
    /// [`InstanceNorm3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = InstanceNorm2dConfig::new(8).affine(true).build()?;
    /// assert_eq!(norm.num_parameters(), 16);
    /// assert!(norm.weight().is_present());
    ///
    /// // With running statistics, which evaluation uses: at first, mean 0 and variance 1.
    /// let config = InstanceNorm1dConfig::new(1).track_running_stats(true).momentum(0.5).eps(0.0);
    /// let norm: InstanceNorm<1> = config.build()?;
    /// norm.eval();
    /// assert_eq!(norm.call(Tensor::from([[[1.0_f32, 3.0]]]))?.to_vec::<f32>()?, [1.0, 3.0]);
    /// let config: InstanceNormConfig<3> = InstanceNorm3dConfig::new(4).affine(true).bias(false);
    /// assert_eq!(config.build()?.num_parameters(), 4);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct InstanceNormConfig<const N: usize> => InstanceNorm {
        required {
            /// The number of channels.
            num_features: usize,
        }
        optional {
            /// Added to the variance.
            eps: Number = 1e-5,
            /// The weight of the newest batch in the running statistics.
            momentum: Number = 0.1,
            /// Whether a scale and a shift are learned.
            affine: bool = false,
            /// Whether running statistics are kept and used in evaluation; without them every input uses its own.
            track_running_stats: bool = false,
            /// Whether `affine` includes the shift.
            bias: bool = true,
        }
    }
}

/// The arguments of [`InstanceNorm1d`].
pub type InstanceNorm1dConfig = InstanceNormConfig<1>;

/// The arguments of [`InstanceNorm2d`].
pub type InstanceNorm2dConfig = InstanceNormConfig<2>;

/// The arguments of [`InstanceNorm3d`].
pub type InstanceNorm3dConfig = InstanceNormConfig<3>;

impl<const N: usize> Build for InstanceNormConfig<N> {
    type Output = InstanceNorm<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// No channels, an `eps` below 0, a `momentum` outside `[0, 1]`.
    fn build(&self) -> Result<InstanceNorm<N>> {
        let arguments = ChannelNormArguments {
            num_features: self.num_features,
            eps: self.eps,
            momentum: Some(self.momentum),
            affine: self.affine,
            track_running_stats: self.track_running_stats,
            bias: self.bias,
        };
        Ok(InstanceNorm {
            config: self.clone(),
            norm: ChannelNorm::new(InstanceNorm::<N>::NAME, arguments)?,
        })
    }
}

impl<const N: usize> InstanceNorm<N> {
    const NAME: &'static str = of_dims::<N>(["InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]);

    /// The scale, `[num_features]`, if the layer has one.
    pub fn weight(&self) -> &Maybe<Parameter> {
        &self.norm.weight
    }

    /// The shift, `[num_features]`, if the layer has one.
    pub fn bias(&self) -> &Maybe<Parameter> {
        &self.norm.bias
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.norm.extra_repr(f)
    }

    /// Refuses anything but `[batch, channels, size…]`, and channels that do not match the members.
    fn check(&self, input: &Tensor) -> Result<()> {
        let channels = self.config.num_features;
        // Without members, any number of channels is valid.
        let bound = self.norm.weight.is_present() || self.norm.running_mean.is_present();
        let expected = if input.rank() != N + 2 {
            format!(
                "[batch, channels, {}], with or without the batch",
                sizes::<N>()
            )
        } else if bound && input.size(1)? != channels {
            format!("{channels} channels")
        } else {
            return Ok(());
        };
        Err(input.shape().error("instance_norm", expected))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> InstanceNormConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for InstanceNorm<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        if input.rank() == N + 1 {
            return self.forward(input.unsqueeze(0)?)?.squeeze(0);
        }
        self.check(&input)?;
        let norm = &self.norm;
        let [weight, bias] = norm.affine();
        let (weight, bias, eps) = (weight.as_ref(), bias.as_ref(), *self.config.eps);
        let Some([mean, var]) = norm.running() else {
            return input.instance_norm(None, weight, bias, eps);
        };
        if !norm.training.tracks_statistics() {
            return input.instance_norm(Some((&mean, &var)), weight, bias, eps);
        }
        let (output, mean, var) = input.instance_norm_train(weight, bias, eps)?;
        if input.numel() > 0 {
            let count = input.numel() / mean.numel();
            let (mean, var) = (mean.mean(0)?, var.mean(0)?);
            norm.update_running(*self.config.momentum, [&mean, &var], count)?;
        }
        Ok(output)
    }
}
