//! The options of a scaler.

use module_core::{Error, Result};

use crate::config::config;

config! {
    /// The options of a [`GradScaler`](super::GradScaler).
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let scaler = GradScalerConfig::new().init_scale(1024.0).growth_interval(100_u64).build()?;
    /// assert_eq!(scaler.get_scale(), 1024.0);
    ///
    /// // The scale is halved after each overflow, and grows by a quarter after two good steps.
    /// let config = GradScalerConfig::new().growth_factor(1.25).backoff_factor(0.5).growth_interval(2);
    /// let mut scaler = config.build()?;
    /// scaler.update_to(512.0)?; // PyTorch's `update(512.0)`.
    /// assert_eq!(scaler.get_scale(), 512.0);
    /// // A disabled one changes nothing, so that one loop serves all precisions.
    /// let scaler = GradScalerConfig::new().enabled(false).build()?;
    /// assert_eq!(scaler.scale(&Tensor::from(2.0_f32))?.item::<f32>()?, 2.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct GradScalerConfig {
        optional {
            /// The initial scale.
            init_scale: f64 = 65536.0,
            /// The factor of the scale after `growth_interval` steps without an infinite gradient.
            growth_factor: f64 = 2.0,
            /// The factor of the scale after an infinite gradient.
            backoff_factor: f64 = 0.5,
            /// The number of steps after which the scale grows.
            growth_interval: u64 = 2000,
            /// Whether to scale at all; a disabled scaler only steps.
            enabled: bool = true,
        }
    }
}

impl GradScalerConfig {
    pub(super) fn check(&self, op: &'static str) -> Result<()> {
        let &Self {
            init_scale,
            growth_factor,
            backoff_factor,
            growth_interval,
            ..
        } = self;
        check_scale(op, "init_scale", init_scale)?;
        if growth_factor.is_nan() || growth_factor <= 1.0 {
            let (name, problem) = ("growth_factor", "must be above 1");
            return Err(Error::argument(op, name, growth_factor, problem));
        }
        if !(backoff_factor > 0.0 && backoff_factor < 1.0) {
            let problem = "must be between 0 and 1";
            return Err(Error::argument(
                op,
                "backoff_factor",
                backoff_factor,
                problem,
            ));
        }
        if growth_interval == 0 {
            let (name, problem) = ("growth_interval", "must be at least 1");
            return Err(Error::argument(op, name, 0, problem));
        }
        Ok(())
    }
}

pub(super) fn check_scale(op: &'static str, name: &'static str, scale: f64) -> Result<()> {
    let held = scale as f32;
    match held > 0.0 && held.is_finite() {
        true => Ok(()),
        false => Err(Error::argument(
            op,
            name,
            scale,
            "must be above 0 and finite in float32",
        )),
    }
}
