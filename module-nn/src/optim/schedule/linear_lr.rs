use module_core::{Error, Result};

use super::{RuleSchedule, ScheduleRule, ScheduleStep, StepKind};
use crate::config::{check_between, config};
use crate::optim::Optimizer;

/// Changes the learning rates linearly from one factor to another.
///
/// With the factors `a` and `b`, `n` epochs, and the base `η₀` of a learning rate `η` at epoch `t`:
///
/// ```text
/// η ← η·a                                        at t = 0
/// η ← η·(1 + (b - a) / (n·a + (t - 1)·(b - a)))  at t ≤ n, so that η = η₀·(a + (b - a)·t/n)
/// ```
///
/// Source: `torch.optim.lr_scheduler.LinearLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 1.0)?;
/// let config = LinearLRConfig::new().start_factor(0.5).total_iters(2_usize);
/// let mut schedule = config.build(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.5);
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.75);
/// // A cool-down, to a tenth.
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 1.0)?;
/// let config = LinearLRConfig::new().start_factor(1.0).end_factor(0.1).total_iters(1);
/// let mut schedule: LinearLR = config.build(&mut optimizer)?;
/// schedule.step(&mut optimizer)?;
/// assert!((optimizer.lr() - 0.1).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
pub type LinearLR = RuleSchedule<LinearLRConfig>;

config! {
    /// The arguments of [`LinearLR`].
    ///
    /// It is an error to build a schedule with a `start_factor` outside `(0, 1]` or an `end_factor` outside `[0, 1]`.
    pub struct LinearLRConfig {
        optional {
            /// The initial factor of the learning rates.
            start_factor: f64 = 1.0 / 3.0,
            /// The final factor.
            end_factor: f64 = 1.0,
            /// The number of epochs in between.
            total_iters: usize = 5,
        }
    }
}

impl LinearLR {
    /// Makes the schedule with PyTorch's defaults.
    ///
    /// # Errors
    ///
    /// Those of [`ScheduleRule::build`].
    pub fn new(optimizer: &mut dyn Optimizer) -> Result<Self> {
        LinearLRConfig::new().build(optimizer)
    }
}

impl ScheduleRule for LinearLRConfig {
    const NAME: &'static str = "LinearLR";

    fn check(&self, _groups: usize) -> Result<()> {
        let start = self.start_factor;
        if !(start > 0.0 && start <= 1.0) {
            let problem = "must be above 0 and at most 1";
            return Err(Error::argument(Self::NAME, "start_factor", start, problem));
        }
        check_between(Self::NAME, "end_factor", self.end_factor, [0.0, 1.0])
    }

    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let (start, change) = (self.start_factor, self.end_factor - self.start_factor);
        let (epoch, iters) = (at.epoch as f64, self.total_iters as f64);
        Ok(match at.kind {
            StepKind::First => at.lr * start,
            StepKind::Restart => at.base_lr * start,
            StepKind::Next if at.epoch > self.total_iters => at.lr,
            StepKind::Next => at.lr * (1.0 + change / (iters * start + (epoch - 1.0) * change)),
        })
    }
}
