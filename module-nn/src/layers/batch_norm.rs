//! What the batch normalisations of all dimensions share.

use std::fmt;

use module_core::module::Repr;
use module_core::{
    Buffer, DType, Device, Maybe, Module, Parameter, Result, Tensor, Training, default_dtype,
};

use super::sync_batch_norm::Sync;
use super::{BatchNorm1d, BatchNorm2d, BatchNorm3d};
use crate::config::{between, config, positive};
use crate::init::{ones, zeros};

config! {
    /// The arguments of the batch normalisations over inputs with `N` spatial dimensions; those of
    /// [`BatchNorm1d`], [`BatchNorm2d`] and [`BatchNorm3d`] are [`BatchNorm1dConfig`],
    /// [`BatchNorm2dConfig`] and [`BatchNorm3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = BatchNorm2dConfig::new(8).momentum(0.01).build()?;
    /// assert_eq!(norm.num_parameters(), 16);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct BatchNormConfig<const N: usize> {
        required {
            /// The number of channels.
            num_features: usize,
        }
        optional {
            /// What is added to the variance.
            eps: f64 = 1e-5,
            /// The weight of the newest batch in the running statistics; `None` averages all batches.
            momentum: Option<f64> = 0.1,
            /// Whether a scale and a shift are learned.
            affine: bool = true,
            /// Whether running statistics are kept; without them every batch uses its own, also in
            /// evaluation.
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

impl BatchNorm1dConfig {
    /// A layer for `[batch, channels]` or `[batch, channels, length]`.
    ///
    /// # Errors
    ///
    /// No channels, an `eps` below 0, a `momentum` outside `[0, 1]`.
    pub fn build(&self) -> Result<BatchNorm1d> {
        BatchNorm::new("BatchNorm1d", self).map(BatchNorm1d::from_norm)
    }
}

impl BatchNorm2dConfig {
    /// A layer for `[batch, channels, height, width]`.
    ///
    /// # Errors
    ///
    /// No channels, an `eps` below 0, a `momentum` outside `[0, 1]`.
    pub fn build(&self) -> Result<BatchNorm2d> {
        BatchNorm::new("BatchNorm2d", self).map(BatchNorm2d::from_norm)
    }
}

impl BatchNorm3dConfig {
    /// A layer for `[batch, channels, depth, height, width]`.
    ///
    /// # Errors
    ///
    /// No channels, an `eps` below 0, a `momentum` outside `[0, 1]`.
    pub fn build(&self) -> Result<BatchNorm3d> {
        BatchNorm::new("BatchNorm3d", self).map(BatchNorm3d::from_norm)
    }
}

/// The members of every normalisation with running statistics; the layers flatten it into
/// themselves.
#[derive(Module)]
pub(super) struct BatchNorm {
    #[module(skip)]
    pub(super) config: BatchNorm1dConfig,
    #[module(skip)]
    pub(super) sync: Sync,
    pub(super) weight: Maybe<Parameter>,
    pub(super) bias: Maybe<Parameter>,
    pub(super) running_mean: Maybe<Buffer>,
    pub(super) running_var: Maybe<Buffer>,
    num_batches_tracked: Maybe<Buffer>,
    pub(super) training: Training,
}

impl BatchNorm {
    pub(super) fn new<const N: usize>(
        layer: &'static str,
        config: &BatchNormConfig<N>,
    ) -> Result<Self> {
        let &BatchNormConfig {
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            bias,
        } = config;
        let config = BatchNormConfig {
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            bias,
        };
        positive(layer, "num_features", num_features)?;
        between(layer, "eps", eps, [0.0, f64::INFINITY])?;
        between(layer, "momentum", momentum.unwrap_or(0.0), [0.0, 1.0])?;
        let statistic = |value: i32| {
            let values = Tensor::full(num_features, value, default_dtype(), &Device::cpu())?;
            Ok(Buffer::new(values))
        };
        let counter = || Ok(Buffer::new(Tensor::zeros((), DType::I64, &Device::cpu())?));
        Ok(Self {
            config,
            sync: Sync::default(),
            weight: Maybe::when(affine, || Parameter::with_init(num_features, ones()))?,
            bias: Maybe::when(affine && bias, || {
                Parameter::with_init(num_features, zeros())
            })?,
            running_mean: Maybe::when(track_running_stats, || statistic(0))?,
            running_var: Maybe::when(track_running_stats, || statistic(1))?,
            num_batches_tracked: Maybe::when(track_running_stats, counter)?,
            training: Training::new(),
        })
    }

    /// Normalises each channel; the layer has checked the number of dimensions.
    pub(super) fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let channels = self.config.num_features;
        if input.size(1)? != channels {
            let expected = format!("{channels} channels in dimension 1");
            let got = input.shape().clone();
            return Err(module_core::ErrorKind::Shape {
                op: "batch_norm",
                expected,
                got,
            }
            .into());
        }
        let statistics = self.running_mean.get().zip(self.running_var.get());
        // Read once: another thread may change the mode meanwhile.
        let training = self.training.tracks_statistics();
        let weight = self.weight.get().map(Parameter::tensor);
        let bias = self.bias.get().map(Parameter::tensor);
        let (weight, bias, eps) = (weight.as_ref(), bias.as_ref(), self.config.eps);
        if let Some((mean, var)) = statistics.filter(|_| !training) {
            return input.batch_norm(&mean.tensor(), &var.tensor(), weight, bias, eps);
        }
        let sync = self.sync.get().filter(|_| training);
        let (output, mean, var, count) = match sync {
            Some(sync) => sync.batch_norm_train(input, weight, bias, eps)?,
            None => {
                let (output, mean, var) = input.batch_norm_train(weight, bias, eps)?;
                (output, mean, var, input.numel() / channels)
            }
        };
        if training {
            self.track(count, &mean, &var)?;
        }
        Ok(output)
    }

    /// Moves the running statistics towards those of a batch with `count` values per channel.
    fn track(&self, count: usize, mean: &Tensor, var: &Tensor) -> Result<()> {
        let Some(counter) = self.num_batches_tracked.get() else {
            return Ok(());
        };
        let batches = counter.tensor().add(1)?;
        if count == 0 {
            // An empty batch is counted and moves nothing, as in PyTorch.
            return counter.set(batches);
        }
        let factor = match self.config.momentum {
            Some(momentum) => momentum,
            None => 1.0 / batches.item::<i64>()? as f64,
        };
        // The running variance is the unbiased one, although the batch is divided by the biased.
        let unbiased = var.mul(count as f64 / (count as f64 - 1.0))?;
        self.blend(factor, mean, &unbiased)?;
        counter.set(batches)
    }

    /// Moves the running statistics by `factor` of the way to these.
    pub(super) fn blend(&self, factor: f64, mean: &Tensor, var: &Tensor) -> Result<()> {
        let moved = |running: &Buffer, new: &Tensor| {
            // Half precision is rounded once, where it is kept.
            let old = running.tensor();
            let rest = old.to_dtype(new.dtype())?.mul(1.0 - factor)?;
            new.mul(factor)?.add(&rest)?.to_dtype(old.dtype())
        };
        let running = self.running_mean.get().zip(self.running_var.get());
        if let Some((running_mean, running_var)) = running {
            let (mean, var) = (moved(running_mean, mean)?, moved(running_var, var)?);
            running_mean.set(mean)?;
            running_var.set(var)?;
        }
        Ok(())
    }

    pub(super) fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BatchNormConfig {
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            bias,
        } = &self.config;
        let shift = *affine && *bias;
        let momentum = momentum.map_or("None".to_owned(), |momentum| Repr(&momentum).to_string());
        write!(
            f,
            "{num_features}, eps={}, momentum={momentum}, affine={}, bias={}, track_running_stats={}",
            Repr(eps),
            Repr(affine),
            Repr(&shift),
            Repr(track_running_stats),
        )
    }
}
