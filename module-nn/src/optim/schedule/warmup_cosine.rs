use std::f64::consts::PI;

use module_core::{Error, Result};

use super::{RuleSchedule, ScheduleRule, ScheduleStep};
use crate::config::config;
use crate::optim::Optimizer;

/// Raises the learning rates linearly, then lowers them along half a cosine wave.
///
/// With `w` warm-up steps out of `n` steps in all, the minimum learning rate `m`, and the base `η₀`, at step `t`:
///
/// ```text
/// η = η₀·t/w                                             t < w
/// η = m + (η₀ - m)·(1 + cos(π·(t - w)/(n - w)))/2        w ≤ t < n
/// η = m                                                  n ≤ t
/// ```
///
/// With a warm-up, the first learning rate is therefore 0. The rate is computed only from the base rate: a manually changed
/// rate is overwritten.
///
/// Source: `get_cosine_schedule_with_warmup` of Hugging Face's transformers, in which the learning rate rises again after
/// `n` steps.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = AdamW::new(&Linear::new(2, 1)?, 1e-3)?;
/// let config = WarmupCosineConfig::new(2_usize, 10_usize).min_lr(1e-4);
/// let mut schedule = config.build(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.0);
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 5e-4);
/// for _ in 1..10 {
///     schedule.step(&mut optimizer)?;
/// }
/// assert_eq!(optimizer.lr(), 1e-4);
/// # Ok::<(), Error>(())
/// ```
pub type WarmupCosine = RuleSchedule<WarmupCosineConfig>;

config! {
    /// The arguments of [`WarmupCosine`].
    ///
    /// It is an error to build a schedule with a warm-up longer than the total, or a `min_lr` below 0.
    pub struct WarmupCosineConfig {
        required {
            /// The number of warm-up steps.
            warmup_steps: usize,
            /// The total number of steps, including the warm-up.
            total_steps: usize,
        }
        optional {
            /// The minimum learning rate.
            min_lr: f64 = 0.0,
        }
    }
}

impl WarmupCosine {
    /// Makes the schedule with a minimum learning rate of 0.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(
        optimizer: &mut dyn Optimizer,
        warmup_steps: usize,
        total_steps: usize,
    ) -> Result<Self> {
        WarmupCosineConfig::new(warmup_steps, total_steps).build(optimizer)
    }
}

impl ScheduleRule for WarmupCosineConfig {
    const NAME: &'static str = "WarmupCosine";

    fn check(&self, _groups: usize) -> Result<()> {
        let (warmup, total) = (self.warmup_steps, self.total_steps);
        if warmup > total {
            let problem = format!("must be at most total_steps, {total}");
            return Err(Error::argument(Self::NAME, "warmup_steps", warmup, problem));
        }
        if !(self.min_lr >= 0.0 && self.min_lr.is_finite()) {
            let problem = "must be at least 0 and finite";
            return Err(Error::argument(Self::NAME, "min_lr", self.min_lr, problem));
        }
        Ok(())
    }

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let (warmup, total, least) = (self.warmup_steps, self.total_steps, self.min_lr);
        if at.epoch < warmup {
            return Ok(at.base_lr * (at.epoch as f64 / warmup as f64));
        }
        if at.epoch >= total {
            return Ok(least);
        }
        let progress = (at.epoch - warmup) as f64 / (total - warmup) as f64;
        Ok(least + (at.base_lr - least) * (0.5 * (1.0 + (PI * progress).cos())))
    }
}
