use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use module_core::module::Number;
use module_core::{Forward, Maybe, Module, Parameter, Result, Tensor};

use super::channel_norm::{ChannelNorm, ChannelNormArguments};
use super::spatial::{of_dims, sizes};
use super::sync_batch_norm::SyncCell;
use crate::config::{Build, config};

/// Batch normalization of each channel: `y = (x - E[x]) / √(Var[x] + eps) · weight + bias`.
///
/// In training, the statistics are the batch's, with the biased variance, and update the running ones, with the unbiased
/// variance; in evaluation, the running ones are used.
///
/// [`BatchNorm1d`], [`BatchNorm2d`] and [`BatchNorm3d`] are its aliases.
///
/// Source: Ioffe and Szegedy, *Batch Normalization: Accelerating Deep Network Training by Reducing
/// Internal Covariate Shift* (2015).
///
/// # Shapes
///
/// `[batch, channels, size…]` with `N` sizes, over one dimension also `[batch, channels]`, to the same.
///
/// # State dict
///
/// `weight`, `bias`, `running_mean`, `running_var`, all `[channels]`, and `num_batches_tracked`, a zero-dimensional `I64`;
/// except those that the configuration omits.
///
/// # Initialization
///
/// Weight and running variance 1, bias and running mean 0, without a draw.
///
/// # Errors
///
/// A wrong number of dimensions or channels; in training, a single value per channel, whose variance is 0.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = BatchNorm2d::new(8)?;
/// let y = norm.call(Tensor::randn([4, 8, 5, 5], DType::F32)?)?;
/// assert!(y.mean(..)?.item::<f32>()?.abs() < 1e-5);
/// let y = BatchNorm1d::new(8)?.call(Tensor::randn([4, 8], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[4, 8]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct BatchNorm<const N: usize> {
    #[module(skip)]
    config: BatchNormConfig<N>,
    #[module(flatten)]
    norm: ChannelNorm,
    #[module(skip)]
    sync: SyncCell,
    /// Whether the running statistics currently average all batches, regardless of the momentum.
    #[module(skip)]
    averages_all: AtomicBool,
}

/// The batch normalization of vectors or sequences, [`BatchNorm`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = BatchNorm1d::new(2)?;
/// let y = norm.call(Tensor::randn([3, 2, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type BatchNorm1d = BatchNorm<1>;

/// The batch normalization of images, [`BatchNorm`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = BatchNorm2d::new(2)?;
/// let y = norm.call(Tensor::randn([3, 2, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type BatchNorm2d = BatchNorm<2>;

/// The batch normalization of volumes, [`BatchNorm`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let norm = BatchNorm3d::new(2)?;
/// let y = norm.call(Tensor::randn([3, 2, 4, 4, 4], DType::F32)?)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 4, 4, 4]");
/// # Ok::<(), Error>(())
/// ```
pub type BatchNorm3d = BatchNorm<3>;

config! {
    /// The arguments of [`BatchNorm`]; those of [`BatchNorm1d`], [`BatchNorm2d`] and [`BatchNorm3d`] are
    /// [`BatchNorm1dConfig`], [`BatchNorm2dConfig`] and [`BatchNorm3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = BatchNorm2dConfig::new(8).momentum(0.01).build()?;
    /// assert_eq!(norm.num_parameters(), 16);
    ///
    /// // Without running statistics, evaluation uses those of the batch, too.
    /// let config = BatchNorm1dConfig::new(1).track_running_stats(false).eps(1e-12).affine(false);
    /// let norm: BatchNorm<1> = config.build()?;
    /// norm.eval();
    /// let y = norm.call(Tensor::from([[1.0_f32], [3.0]]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, 1.0]);
    /// let config: BatchNormConfig<3> = BatchNorm3dConfig::new(4).bias(false);
    /// let norm = config.build()?;
    /// let names: Vec<String> = norm.named_parameters().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["weight"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct BatchNormConfig<const N: usize> => BatchNorm {
        required {
            /// The number of channels.
            num_features: usize,
        }
        optional {
            /// Added to the variance.
            eps: Number = 1e-5,
            /// The weight of the newest batch in the running statistics; `None` averages all batches.
            momentum: Option<Number> = 0.1,
            /// Whether a scale and a shift are learned.
            affine: bool = true,
            /// Whether running statistics are kept; without them every batch uses its own, also in evaluation.
            track_running_stats: bool = true,
            /// Whether `affine` includes the shift.
            bias: bool = true,
        }
    }
}

/// The arguments of [`BatchNorm1d`].
pub type BatchNorm1dConfig = BatchNormConfig<1>;

/// The arguments of [`BatchNorm2d`].
pub type BatchNorm2dConfig = BatchNormConfig<2>;

/// The arguments of [`BatchNorm3d`].
pub type BatchNorm3dConfig = BatchNormConfig<3>;

impl<const N: usize> Build for BatchNormConfig<N> {
    type Output = BatchNorm<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// No channels, an `eps` below 0, a `momentum` outside `[0, 1]`.
    fn build(&self) -> Result<BatchNorm<N>> {
        let arguments = ChannelNormArguments {
            num_features: self.num_features,
            eps: self.eps,
            momentum: self.momentum,
            affine: self.affine,
            track_running_stats: self.track_running_stats,
            bias: self.bias,
        };
        Ok(BatchNorm {
            config: self.clone(),
            norm: ChannelNorm::new(BatchNorm::<N>::NAME, arguments)?,
            sync: SyncCell::default(),
            averages_all: AtomicBool::new(false),
        })
    }
}

impl<const N: usize> BatchNorm<N> {
    const NAME: &'static str = of_dims::<N>(["BatchNorm1d", "BatchNorm2d", "BatchNorm3d"]);

    /// The scale, `[num_features]`, if the layer has one.
    pub fn weight(&self) -> &Maybe<Parameter> {
        &self.norm.weight
    }

    /// The shift, `[num_features]`, if the layer has one.
    pub fn bias(&self) -> &Maybe<Parameter> {
        &self.norm.bias
    }

    /// Resets the running statistics to those of a new layer: mean 0, variance 1, no batches.
    ///
    /// # Errors
    ///
    /// Not enough memory; then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = BatchNorm1d::new(2)?;
    /// norm.call(Tensor::from([[1.0_f32, 2.0], [3.0, 6.0]]))?;
    /// norm.reset_running_stats()?;
    /// assert_eq!(norm.get_buffer("running_mean")?.tensor().to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn reset_running_stats(&self) -> Result<()> {
        self.norm.reset_running()
    }

    /// Used by [`update_bn`](crate::optim::update_bn).
    pub(crate) fn averaging(&self) -> (&ChannelNorm, &AtomicBool) {
        (&self.norm, &self.averages_all)
    }

    pub(super) fn sync(&self) -> &SyncCell {
        &self.sync
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.norm.extra_repr(f)
    }

    fn check(&self, input: &Tensor) -> Result<()> {
        let (rank, channels) = (input.rank(), self.config.num_features);
        let expected = if rank != N + 2 && (rank, N) != (2, 1) {
            let flat = if N == 1 { "[batch, channels] or " } else { "" };
            format!("{flat}[batch, channels, {}]", sizes::<N>())
        } else if input.size(1)? != channels {
            format!("{channels} channels in dimension 1")
        } else {
            return Ok(());
        };
        Err(input.shape().error("batch_norm", expected))
    }

    /// Moves the running statistics towards those of a batch with `count` values per channel.
    fn track(&self, count: usize, mean: &Tensor, var: &Tensor) -> Result<()> {
        let Some(counter) = self.norm.num_batches_tracked.get() else {
            return Ok(());
        };
        let batches = counter.tensor().add(1)?;
        if count == 0 {
            // An empty batch is counted but does not change the statistics, as in PyTorch.
            return counter.set(batches);
        }
        let own = self.config.momentum;
        let factor = match own.filter(|_| !self.averages_all.load(Ordering::Relaxed)) {
            Some(momentum) => *momentum,
            None => 1.0 / batches.item::<i64>()? as f64,
        };
        self.norm.update_running(factor, [mean, var], count)?;
        counter.set(batches)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> BatchNormConfig<N> {
        self.config.clone()
    }
}

impl<const N: usize> Forward for BatchNorm<N> {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        self.check(&input)?;
        let norm = &self.norm;
        // Read once: another thread may change the mode meanwhile.
        let training = norm.training.tracks_statistics();
        let [weight, bias] = norm.affine();
        let (weight, bias, eps) = (weight.as_ref(), bias.as_ref(), *self.config.eps);
        if let Some([mean, var]) = norm.running().filter(|_| !training) {
            return input.batch_norm(&mean, &var, weight, bias, eps);
        }
        let (output, mean, var, count) = match self.sync.get().filter(|_| training) {
            Some(sync) => sync.batch_norm_train(&input, weight, bias, eps)?,
            None => {
                let (output, mean, var) = input.batch_norm_train(weight, bias, eps)?;
                (output, mean, var, input.numel() / self.config.num_features)
            }
        };
        if training {
            self.track(count, &mean, &var)?;
        }
        Ok(output)
    }
}
