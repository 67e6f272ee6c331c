use std::f64::consts::PI;

use module_core::Result;

use super::{AnnealStrategy, RuleSchedule, ScheduleRule, ScheduleStep};
use crate::OneOrEach;
use crate::config::config;
use crate::optim::Optimizer;
use crate::optim::range::at_least_0;

/// Moves the learning rates to a fixed value, at which [`SWA`](super::super::SWA) averages weights.
///
/// With the last rate `s = swa_lr` and the number of epochs `N = anneal_epochs`, a learning rate `η` at epoch `t` is
///
/// ```text
/// η ← α(t)·s + (1 - α(t))·(η - α(t - 1)·s)/(1 - α(t - 1))
/// α(t) = (1 - cos(π·min(t/N, 1)))/2    Cos
/// α(t) = min(t/N, 1)                   Linear
/// ```
///
/// and `s` from epoch `N` on. If `N` is 0, it is `s` from the start.
///
/// Source: `torch.optim.swa_utils.SWALR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let config = SWALRConfig::new(0.1).anneal_epochs(2_usize).anneal_strategy(AnnealStrategy::Linear);
/// let mut schedule: SWALR = config.build(&mut optimizer)?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.3);
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.1);
/// # Ok::<(), Error>(())
/// ```
pub type SWALR = RuleSchedule<SWALRConfig>;

config! {
    /// The arguments of [`SWALR`].
    ///
    /// It is an error to build a schedule with negative rates, or a number of rates that differs from the groups.
    pub struct SWALRConfig {
        required {
            /// The final learning rate, or one for each group.
            swa_lr: OneOrEach<f64>,
        }
        optional {
            /// The number of epochs to reach it.
            anneal_epochs: usize = 10,
            /// The curve in between.
            anneal_strategy: AnnealStrategy = AnnealStrategy::Cos,
        }
    }
}

impl SWALR {
    /// Makes the schedule with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(optimizer: &mut dyn Optimizer, swa_lr: f64) -> Result<Self> {
        SWALRConfig::new(swa_lr).build(optimizer)
    }
}

impl SWALRConfig {
    /// The progress of an epoch along the curve.
    fn progress(&self, epoch: f64) -> f64 {
        let t = (epoch / self.anneal_epochs.max(1) as f64).clamp(0.0, 1.0);
        match self.anneal_strategy {
            AnnealStrategy::Cos => (1.0 - (PI * t).cos()) / 2.0,
            AnnealStrategy::Linear => t,
        }
    }
}

impl ScheduleRule for SWALRConfig {
    const NAME: &'static str = "SWALR";

    fn check(&self, groups: usize) -> Result<()> {
        let rates = self.swa_lr.get(Self::NAME, "swa_lr", groups)?;
        let mut rates = rates.into_iter();
        rates.try_for_each(|rate| at_least_0(Self::NAME, "swa_lr", rate))
    }

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let given = self.swa_lr.given();
        let own = given.get(at.group).or(given.first());
        let swa_lr = own.copied().unwrap_or(f64::NAN);
        let epoch = match self.anneal_epochs {
            0 => at.epoch.max(1),
            _ => at.epoch,
        } as f64;
        let (before, now) = (self.progress(epoch - 1.0), self.progress(epoch));
        // From the final rate, the first one cannot be recovered.
        let first = match before == 1.0 {
            true => swa_lr,
            false => (at.lr - before * swa_lr) / (1.0 - before),
        };
        Ok(swa_lr * now + first * (1.0 - now))
    }
}
