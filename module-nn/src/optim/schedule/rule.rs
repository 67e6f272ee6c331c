//! A schedule defined by a formula of its arguments.

use module_core::{Result, Snapshot, Stateful};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ScheduleStep;
use super::common::{Base, Core, Formula, schedule_by_formula};
use crate::optim::Optimizer;

/// The formula of a schedule and its arguments: everything that a custom schedule needs.
///
/// [`build`](Self::build) makes a schedule from it, with its state and all checks ([`RuleSchedule`]). The arguments are
/// saved with the state, so they are `Serialize` and `Deserialize`.
///
/// # Example
///
/// A learning rate that decays with the square root of the epoch:
///
/// ```
/// use module_nn::optim::{ScheduleRule, ScheduleStep};
/// use module_nn::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Serialize, Deserialize)]
/// struct InverseSqrt;
///
/// impl ScheduleRule for InverseSqrt {
///     const NAME: &'static str = "InverseSqrt";
///
///     // No argument can be outside its range.
///     fn check(&self, _groups: usize) -> Result<()> {
///         Ok(())
///     }
///
///     fn lr(&self, at: &ScheduleStep) -> Result<f64> {
///         Ok(at.base_lr / (1.0 + at.epoch as f64).sqrt())
///     }
/// }
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let mut schedule = InverseSqrt.build(&mut optimizer)?;
/// for _ in 0..3 {
///     schedule.step(&mut optimizer)?;
/// }
/// assert_eq!(optimizer.lr(), 0.25);
/// # Ok::<(), Error>(())
/// ```
pub trait ScheduleRule: Clone + Serialize + DeserializeOwned {
    /// The name of the schedule, which is saved with its state: a state can be loaded only by a schedule with this name.
    const NAME: &'static str;

    /// Refuses arguments outside their ranges, for an optimizer with this many groups.
    ///
    /// # Errors
    ///
    /// The argument, its value and its range.
    fn check(&self, groups: usize) -> Result<()> {
        let _ = groups;
        Ok(())
    }

    /// The learning rate of a group.
    ///
    /// # Errors
    ///
    /// An epoch that the schedule does not have.
    fn lr(&self, at: &ScheduleStep) -> Result<f64>;

    /// A schedule of the learning rates of an optimizer; it sets those of epoch 0.
    ///
    /// # Errors
    ///
    /// Arguments that [`check`](Self::check) refuses; a learning rate that is negative or not finite. Then the optimizer is
    /// unchanged.
    fn build(&self, optimizer: &mut dyn Optimizer) -> Result<RuleSchedule<Self>> {
        self.check(optimizer.group_lrs().len())?;
        let core = Core::new(Self::NAME, Base::OfOptimizer, optimizer, &ByRule(self))?;
        let rule = self.clone();
        Ok(RuleSchedule { rule, core })
    }
}

/// The formula of a rule.
struct ByRule<'a, R>(&'a R);

impl<R: ScheduleRule> Formula for ByRule<'_, R> {
    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        self.0.lr(at)
    }
}

/// A schedule that sets each learning rate by a [`ScheduleRule`]; made by [`ScheduleRule::build`].
///
/// # Example
///
/// ```
/// use module_nn::optim::RuleSchedule;
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let schedule = StepLRConfig::new(30_usize).gamma(0.5).build(&mut optimizer)?;
/// assert_eq!((schedule.rule().step_size, schedule.last_epoch()), (30, 0));
/// let schedule: RuleSchedule<StepLRConfig> = schedule; // This is `StepLR`.
/// # Ok::<(), Error>(())
/// ```
pub struct RuleSchedule<R: ScheduleRule> {
    rule: R,
    core: Core,
}

impl<R: ScheduleRule> RuleSchedule<R> {
    /// The arguments.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// The epoch: the number of steps so far.
    pub fn last_epoch(&self) -> usize {
        self.core.epoch()
    }
}

schedule_by_formula!(RuleSchedule<R>, |this| ByRule(&this.rule), R: ScheduleRule);

/// The arguments, the epoch, and the learning rates at the start and last set.
impl<R: ScheduleRule> Stateful for RuleSchedule<R> {
    fn state(&self) -> Result<Snapshot> {
        self.core.save(self.hyperparameters()?)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.rule)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let core = self.core.read(state)?;
        let rule: R = state.get("config")?;
        rule.check(core.groups())?;
        (self.rule, self.core) = (rule, core);
        Ok(())
    }
}
