/// How a schedule reached the epoch of a [`ScheduleStep`].
///
/// # Example
///
/// ```
/// use module_nn::optim::{ScheduleRule, ScheduleStep, StepKind};
/// use module_nn::prelude::*;
/// use serde::{Deserialize, Serialize};
///
/// /// Half of the rate at every step, whatever has changed it meanwhile.
/// #[derive(Clone, Serialize, Deserialize)]
/// struct Halving;
///
/// impl ScheduleRule for Halving {
///     const NAME: &'static str = "Halving";
///
///     fn lr(&self, at: &ScheduleStep) -> Result<f64> {
///         Ok(match at.kind {
///             StepKind::First => at.lr,
///             StepKind::Next => at.lr / 2.0,
///             StepKind::Restart => at.base_lr,
///         })
///     }
/// }
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let mut schedule = Halving.build(&mut optimizer)?;
/// optimizer.set_lr(0.25)?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.125);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// It was built or restarted; the optimizer has its previous learning rates.
    First,
    /// By a step.
    Next,
    /// [`SequentialLR`](super::SequentialLR) has reached it; the learning rates are those of another schedule.
    Restart,
}

/// The group and the epoch that a schedule computes a learning rate for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScheduleStep {
    /// The epoch: 0 when the schedule is built, and one more at each step.
    pub epoch: usize,
    /// How the schedule reached it.
    pub kind: StepKind,
    /// The group, counted from 0.
    pub group: usize,
    /// The current learning rate of the group.
    pub lr: f64,
    /// The learning rate of the group before the first schedule.
    pub base_lr: f64,
}
