use std::f64::consts::PI;

use module_core::Result;

use super::{RuleSchedule, ScheduleRule, ScheduleStep, StepKind};
use crate::config::{check_positive, config};
use crate::optim::Optimizer;

/// Lowers the learning rates along half a cosine wave, and raises them again along the other half.
///
/// With the half period `T = t_max`, the minimum learning rate `e = eta_min`, and the base `η₀` of a learning rate `η` at
/// epoch `t`:
///
/// ```text
/// η ← (1 + cos(π·t/T)) / (1 + cos(π·(t - 1)/T)) · (η - e) + e
/// η ← η + (η₀ - e)·(1 - cos(π/T))/2      the first step up from the least
/// ```
///
/// so that `η = e + (η₀ - e)·(1 + cos(π·t/T))/2`.
///
/// Source: `torch.optim.lr_scheduler.CosineAnnealingLR`; Loshchilov and Hutter, *SGDR: Stochastic Gradient Descent
/// with Warm Restarts* (2017).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let mut schedule = CosineAnnealingLR::new(&mut optimizer, 10)?;
/// for _ in 0..10 {
///     schedule.step(&mut optimizer)?;
/// }
/// assert_eq!(optimizer.lr(), 0.0);
/// # Ok::<(), Error>(())
/// ```
pub type CosineAnnealingLR = RuleSchedule<CosineAnnealingLRConfig>;

config! {
    /// The arguments of [`CosineAnnealingLR`].
    ///
    /// It is an error to build a schedule with a `t_max` of 0.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
    /// let mut schedule = CosineAnnealingLRConfig::new(10).eta_min(0.1).build(&mut optimizer)?;
    /// for _ in 0..10 {
    ///     schedule.step(&mut optimizer)?;
    /// }
    /// assert_eq!(optimizer.lr(), 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CosineAnnealingLRConfig {
        required {
            /// The number of epochs from the maximum learning rate to the minimum: PyTorch's `T_max`.
            t_max: usize,
        }
        optional {
            /// The minimum learning rate.
            eta_min: f64 = 0.0,
        }
    }
}

impl CosineAnnealingLR {
    /// Makes the schedule with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(optimizer: &mut dyn Optimizer, t_max: usize) -> Result<Self> {
        CosineAnnealingLRConfig::new(t_max).build(optimizer)
    }
}

impl ScheduleRule for CosineAnnealingLRConfig {
    const NAME: &'static str = "CosineAnnealingLR";

    fn check(&self, _groups: usize) -> Result<()> {
        check_positive(Self::NAME, "t_max", self.t_max)
    }

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let (epoch, t_max, least) = (at.epoch as f64, self.t_max as f64, self.eta_min);
        let wave = |epoch: f64| 1.0 + (PI * epoch / t_max).cos();
        // The last epoch was at the minimum learning rate, from which no factor leads upward.
        let rises = |epoch: usize| {
            let last = epoch.saturating_sub(1);
            last.is_multiple_of(self.t_max) && (last / self.t_max) % 2 == 1
        };
        Ok(match at.kind {
            StepKind::First => at.lr,
            StepKind::Restart => least + (at.base_lr - least) * wave(0.0) / 2.0,
            StepKind::Next if rises(at.epoch) => {
                at.lr + (at.base_lr - least) * (1.0 - (PI / t_max).cos()) / 2.0
            }
            StepKind::Next => wave(epoch) / wave(epoch - 1.0) * (at.lr - least) + least,
        })
    }
}
