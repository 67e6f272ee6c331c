use module_core::Result;

use super::{RuleSchedule, ScheduleRule, ScheduleStep, StepKind};
use crate::config::config;
use crate::optim::Optimizer;

/// Lowers the learning rates to 0 by a power of the remaining epochs.
///
/// With `n` epochs, the power `p`, and the base `η₀` of a learning rate `η` at epoch `t`:
///
/// ```text
/// η ← η·((1 - t/n) / (1 - (t - 1)/n))ᵖ  at t ≤ n, so that η = η₀·(1 - t/n)ᵖ
/// ```
///
/// Source: `torch.optim.lr_scheduler.PolynomialLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 1.0)?;
/// let config = PolynomialLRConfig::new().total_iters(2_usize).power(2.0);
/// let mut schedule: PolynomialLR = config.build(&mut optimizer)?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.25);
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.0);
/// # Ok::<(), Error>(())
/// ```
pub type PolynomialLR = RuleSchedule<PolynomialLRConfig>;

config! {
    /// The arguments of [`PolynomialLR`].
    pub struct PolynomialLRConfig {
        optional {
            /// The number of epochs after which the learning rates are 0.
            total_iters: usize = 5,
            /// The exponent.
            power: f64 = 1.0,
        }
    }
}

impl PolynomialLR {
    /// Makes the schedule with PyTorch's defaults.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(optimizer: &mut dyn Optimizer) -> Result<Self> {
        PolynomialLRConfig::new().build(optimizer)
    }
}

impl ScheduleRule for PolynomialLRConfig {
    const NAME: &'static str = "PolynomialLR";

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let (epoch, iters) = (at.epoch as f64, self.total_iters as f64);
        Ok(match at.kind {
            StepKind::First => at.lr,
            StepKind::Restart => at.base_lr,
            StepKind::Next if at.epoch > self.total_iters => at.lr,
            StepKind::Next => {
                let decay = (1.0 - epoch / iters) / (1.0 - (epoch - 1.0) / iters);
                at.lr * decay.powf(self.power)
            }
        })
    }
}
