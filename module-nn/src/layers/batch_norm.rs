//! What the batch normalisations of all dimensions share.

use std::fmt;

use module_core::module::Repr;
use module_core::{
    Buffer, DType, Device, Maybe, Module, Parameter, Result, Tensor, Training, default_dtype,
};

use super::{BatchNorm1d, BatchNorm2d};
use crate::config::{between, config, positive};
use crate::init::{ones, zeros};

config! {
    /// The arguments of the batch normalisations over inputs with `N` spatial dimensions; those of
    /// [`BatchNorm1d`] and [`BatchNorm2d`] are [`BatchNorm1dConfig`] and [`BatchNorm2dConfig`].
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

/// The members of every batch normalisation; the layers flatten it into themselves.
#[derive(Module)]
pub(super) struct BatchNorm {
    #[module(skip)]
    config: BatchNorm1dConfig,
    weight: Maybe<Parameter>,
    bias: Maybe<Parameter>,
    running_mean: Maybe<Buffer>,
    running_var: Maybe<Buffer>,
    num_batches_tracked: Maybe<Buffer>,
    training: Training,
}

impl BatchNorm {
    fn new<const N: usize>(layer: &'static str, config: &BatchNormConfig<N>) -> Result<Self> {
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
        let (output, mean, var) = input.batch_norm_train(weight, bias, eps)?;
        if training {
            self.track(input.numel() / channels, &mean, &var)?;
        }
        Ok(output)
    }

    /// Moves the running statistics towards those of a batch with `count` values per channel.
    fn track(&self, count: usize, mean: &Tensor, var: &Tensor) -> Result<()> {
        let (Some(running_mean), Some(running_var), Some(counter)) = (
            self.running_mean.get(),
            self.running_var.get(),
            self.num_batches_tracked.get(),
        ) else {
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
        let blend = |old: Tensor, new: &Tensor| {
            // Half precision is rounded once, where it is kept.
            let moved = old.to_dtype(new.dtype())?.mul(1.0 - factor)?;
            new.mul(factor)?.add(&moved)?.to_dtype(old.dtype())
        };
        // The running variance is the unbiased one, although the batch is divided by the biased.
        let unbiased = var.mul(count as f64 / (count as f64 - 1.0))?;
        let (new_mean, new_var) = (
            blend(running_mean.tensor(), mean)?,
            blend(running_var.tensor(), &unbiased)?,
        );
        running_mean.set(new_mean)?;
        running_var.set(new_var)?;
        counter.set(batches)
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
