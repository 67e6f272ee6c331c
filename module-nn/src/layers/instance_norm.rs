//! What the instance normalisations of all dimensions share.

use module_core::{ErrorKind, Parameter, Result, Tensor};

use super::batch_norm::{BatchNorm, BatchNormConfig};
use super::{InstanceNorm1d, InstanceNorm2d, InstanceNorm3d};
use crate::config::config;

config! {
    /// The arguments of the instance normalisations over inputs with `N` spatial dimensions; those of
    /// [`InstanceNorm1d`], [`InstanceNorm2d`] and [`InstanceNorm3d`] are [`InstanceNorm1dConfig`],
    /// [`InstanceNorm2dConfig`] and [`InstanceNorm3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let norm = InstanceNorm2dConfig::new(8).affine(true).build()?;
    /// assert_eq!(norm.num_parameters(), 16);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct InstanceNormConfig<const N: usize> {
        required {
            /// The number of channels.
            num_features: usize,
        }
        optional {
            /// What is added to the variance.
            eps: f64 = 1e-5,
            /// The weight of the newest batch in the running statistics.
            momentum: f64 = 0.1,
            /// Whether a scale and a shift are learned.
            affine: bool = false,
            /// Whether running statistics are kept, which then serve in evaluation; without them every
            /// input uses its own.
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

impl InstanceNorm1dConfig {
    /// A layer for `[batch, channels, length]`, with or without the batch.
    ///
    /// # Errors
    ///
    /// No channels, an `eps` below 0, a `momentum` outside `[0, 1]`.
    pub fn build(&self) -> Result<InstanceNorm1d> {
        InstanceNorm::new_instance("InstanceNorm1d", self).map(InstanceNorm1d::from_norm)
    }
}

impl InstanceNorm2dConfig {
    /// A layer for `[batch, channels, height, width]`, with or without the batch.
    ///
    /// # Errors
    ///
    /// No channels, an `eps` below 0, a `momentum` outside `[0, 1]`.
    pub fn build(&self) -> Result<InstanceNorm2d> {
        InstanceNorm::new_instance("InstanceNorm2d", self).map(InstanceNorm2d::from_norm)
    }
}

impl InstanceNorm3dConfig {
    /// A layer for `[batch, channels, depth, height, width]`, with or without the batch.
    ///
    /// # Errors
    ///
    /// No channels, an `eps` below 0, a `momentum` outside `[0, 1]`.
    pub fn build(&self) -> Result<InstanceNorm3d> {
        InstanceNorm::new_instance("InstanceNorm3d", self).map(InstanceNorm3d::from_norm)
    }
}

/// The same members as those of batch normalisation, computed with in another way.
pub(super) type InstanceNorm = BatchNorm;

impl InstanceNorm {
    fn new_instance<const N: usize>(
        layer: &'static str,
        config: &InstanceNormConfig<N>,
    ) -> Result<Self> {
        let &InstanceNormConfig {
            num_features,
            eps,
            momentum,
            affine,
            track_running_stats,
            bias,
        } = config;
        let config = BatchNormConfig::<N> {
            num_features,
            eps,
            momentum: Some(momentum),
            affine,
            track_running_stats,
            bias,
        };
        Self::new(layer, &config)
    }

    /// Normalises each channel of each element of the batch; `expected` names the dimensions, the
    /// batch's first.
    pub(super) fn forward_instance(&self, input: &Tensor, expected: &[&str]) -> Result<Tensor> {
        let rank = input.rank();
        let problem = |expected: String| {
            let (op, got) = ("instance_norm", input.shape().clone());
            ErrorKind::Shape { op, expected, got }
        };
        if rank + 1 == expected.len() {
            let output = self.forward_instance(&input.unsqueeze(0)?, expected)?;
            return output.squeeze(0);
        }
        if rank != expected.len() {
            let expected = format!("[{}], with or without the batch", expected.join(", "));
            return Err(problem(expected).into());
        }
        let channels = self.config.num_features;
        // Without members there is nothing that the number of channels could fail to fit.
        let bound = self.weight.is_present() || self.running_mean.is_present();
        if bound && input.size(1)? != channels {
            return Err(problem(format!("{channels} channels")).into());
        }
        let weight = self.weight.get().map(Parameter::tensor);
        let bias = self.bias.get().map(Parameter::tensor);
        let (weight, bias, eps) = (weight.as_ref(), bias.as_ref(), self.config.eps);
        let running = self.running_mean.get().zip(self.running_var.get());
        let Some((running_mean, running_var)) = running else {
            return input.instance_norm(None, weight, bias, eps);
        };
        if !self.training.tracks_statistics() {
            let (mean, var) = (running_mean.tensor(), running_var.tensor());
            return input.instance_norm(Some((&mean, &var)), weight, bias, eps);
        }
        let (output, mean, var) = input.instance_norm_train(weight, bias, eps)?;
        if input.numel() > 0 {
            let count = (input.numel() / mean.numel()) as f64;
            let over_batch = |statistic: &Tensor| statistic.mean(0, false);
            let (mean, var) = (over_batch(&mean)?, over_batch(&var)?);
            let factor = self.config.momentum.unwrap_or(0.0);
            self.blend(factor, &mean, &var.mul(count / (count - 1.0))?)?;
        }
        Ok(output)
    }
}
