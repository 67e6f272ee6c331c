use module_core::Result;

use super::{RuleSchedule, ScheduleRule, ScheduleStep, StepKind};
use crate::config::{check_positive, config};
use crate::optim::Optimizer;

/// Multiplies the learning rates by `gamma` every `step_size` epochs.
///
/// At epoch `t`, a learning rate `η` with the base `η₀`:
///
/// ```text
/// η ← η·γ  if step_size divides t > 0          so that η = η₀·γ^⌊t/step_size⌋
/// ```
///
/// Source: `torch.optim.lr_scheduler.StepLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let mut schedule: StepLR = StepLRConfig::new(2_usize).gamma(0.5).build(&mut optimizer)?;
/// let mut lrs = Vec::new();
/// for _ in 0..4 {
///     schedule.step(&mut optimizer)?;
///     lrs.push(optimizer.lr());
/// }
/// assert_eq!(lrs, [0.5, 0.25, 0.25, 0.125]);
/// # Ok::<(), Error>(())
/// ```
pub type StepLR = RuleSchedule<StepLRConfig>;

config! {
    /// The arguments of [`StepLR`].
    ///
    /// It is an error to build a schedule with a `step_size` of 0.
    pub struct StepLRConfig {
        required {
            /// The number of epochs between changes.
            step_size: usize,
        }
        optional {
            /// The factor of the learning rates.
            gamma: f64 = 0.1,
        }
    }
}

impl StepLR {
    /// Makes the schedule with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(optimizer: &mut dyn Optimizer, step_size: usize) -> Result<Self> {
        StepLRConfig::new(step_size).build(optimizer)
    }
}

impl ScheduleRule for StepLRConfig {
    const NAME: &'static str = "StepLR";

    fn check(&self, _groups: usize) -> Result<()> {
        check_positive(Self::NAME, "step_size", self.step_size)
    }

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        Ok(match at.kind {
            StepKind::First => at.lr,
            StepKind::Restart => at.base_lr,
            StepKind::Next if at.epoch.is_multiple_of(self.step_size) => at.lr * self.gamma,
            StepKind::Next => at.lr,
        })
    }
}
