use module_core::Result;

use super::{RuleSchedule, ScheduleRule, ScheduleStep, StepKind};
use crate::config::config;
use crate::optim::Optimizer;

/// Multiplies the learning rates by `gamma` at each milestone.
///
/// At epoch `t`, a learning rate `η` with the base `η₀`:
///
/// ```text
/// η ← η·γⁿ   for the n milestones that are t          so that η = η₀·γ^(milestones up to t)
/// ```
///
/// Source: `torch.optim.lr_scheduler.MultiStepLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let mut schedule: MultiStepLR = MultiStepLRConfig::new([1, 3]).gamma(0.5).build(&mut optimizer)?;
/// let mut lrs = Vec::new();
/// for _ in 0..4 {
///     schedule.step(&mut optimizer)?;
///     lrs.push(optimizer.lr());
/// }
/// assert_eq!(lrs, [0.25, 0.25, 0.125, 0.125]);
/// # Ok::<(), Error>(())
/// ```
pub type MultiStepLR = RuleSchedule<MultiStepLRConfig>;

config! {
    /// The arguments of [`MultiStepLR`].
    pub struct MultiStepLRConfig {
        required {
            /// The epochs at which the learning rates change, in any order; one that occurs twice counts twice.
            milestones: Vec<usize>,
        }
        optional {
            /// The factor of the learning rates.
            gamma: f64 = 0.1,
        }
    }
}

impl MultiStepLR {
    /// Makes the schedule with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(optimizer: &mut dyn Optimizer, milestones: impl Into<Vec<usize>>) -> Result<Self> {
        MultiStepLRConfig::new(milestones.into()).build(optimizer)
    }
}

impl ScheduleRule for MultiStepLRConfig {
    const NAME: &'static str = "MultiStepLR";

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let milestones = self.milestones.iter();
        let count = milestones.filter(|milestone| **milestone == at.epoch);
        let lr = match at.kind {
            StepKind::Restart => at.base_lr,
            StepKind::First | StepKind::Next => at.lr,
        };
        Ok(match count.count() {
            0 => lr,
            count => lr * self.gamma.powf(count as f64),
        })
    }
}
