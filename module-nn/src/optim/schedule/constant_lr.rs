use module_core::Result;

use super::{RuleSchedule, ScheduleRule, ScheduleStep, StepKind};
use crate::config::{check_between, config};
use crate::optim::Optimizer;

/// Multiplies the learning rates by a factor for the first epochs.
///
/// At epoch `t`, a learning rate `η`:
///
/// ```text
/// η ← η·factor        at t = 0
/// η ← η·(1 / factor)  at t = total_iters
/// ```
///
/// Source: `torch.optim.lr_scheduler.ConstantLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let config = ConstantLRConfig::new().factor(0.5).total_iters(2_usize);
/// let mut schedule: ConstantLR = config.build(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.25);
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.25);
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.5);
/// # Ok::<(), Error>(())
/// ```
pub type ConstantLR = RuleSchedule<ConstantLRConfig>;

config! {
    /// The arguments of [`ConstantLR`].
    ///
    /// It is an error to build a schedule with a factor outside `[0, 1]`. With a factor of 0 the learning rates cannot
    /// be restored: the step to `total_iters` is an error.
    pub struct ConstantLRConfig {
        optional {
            /// The factor of the learning rates.
            factor: f64 = 1.0 / 3.0,
            /// The number of epochs.
            total_iters: usize = 5,
        }
    }
}

impl ConstantLR {
    /// Makes the schedule with PyTorch's defaults.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(optimizer: &mut dyn Optimizer) -> Result<Self> {
        ConstantLRConfig::new().build(optimizer)
    }
}

impl ScheduleRule for ConstantLRConfig {
    const NAME: &'static str = "ConstantLR";

    fn check(&self, _groups: usize) -> Result<()> {
        check_between(Self::NAME, "factor", self.factor, [0.0, 1.0])
    }

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        Ok(match at.kind {
            StepKind::First => at.lr * self.factor,
            StepKind::Restart if self.total_iters == 0 => {
                at.base_lr * (self.factor + (1.0 - self.factor))
            }
            StepKind::Restart => at.base_lr * self.factor,
            StepKind::Next if at.epoch == self.total_iters => at.lr * (1.0 / self.factor),
            StepKind::Next => at.lr,
        })
    }
}
