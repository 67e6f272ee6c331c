use module_core::Result;

use super::{RuleSchedule, ScheduleRule, ScheduleStep, StepKind};
use crate::config::config;
use crate::optim::Optimizer;

/// Multiplies the learning rates by `gamma` at every epoch.
///
/// ```text
/// η ← η·γ          so that η = η₀·γᵗ at epoch t
/// ```
///
/// Source: `torch.optim.lr_scheduler.ExponentialLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let mut schedule = ExponentialLR::new(&mut optimizer, 0.5)?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.25);
/// # Ok::<(), Error>(())
/// ```
pub type ExponentialLR = RuleSchedule<ExponentialLRConfig>;

config! {
    /// The arguments of [`ExponentialLR`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
    /// let schedule = ExponentialLRConfig::new(0.9).build(&mut optimizer)?;
    /// assert_eq!(schedule.rule().gamma, 0.9);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ExponentialLRConfig {
        required {
            /// The factor of the learning rates.
            gamma: f64,
        }
    }
}

impl ExponentialLR {
    /// Makes the schedule with this factor.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(optimizer: &mut dyn Optimizer, gamma: f64) -> Result<Self> {
        ExponentialLRConfig::new(gamma).build(optimizer)
    }
}

impl ScheduleRule for ExponentialLRConfig {
    const NAME: &'static str = "ExponentialLR";

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        Ok(match at.kind {
            StepKind::First => at.lr,
            StepKind::Restart => at.base_lr,
            StepKind::Next => at.lr * self.gamma,
        })
    }
}
