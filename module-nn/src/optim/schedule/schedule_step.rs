/// How a schedule reached the epoch of a [`ScheduleStep`].
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
