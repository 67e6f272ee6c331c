/// How a schedule came to the epoch of a [`ScheduleStep`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// It was built, or started again; the optimizer has the learning rates from before.
    First,
    /// By a step.
    Next,
    /// [`SequentialLR`](super::SequentialLR) has come to it; the learning rates are those that another schedule
    /// left.
    Restart,
}

/// The group and the epoch that a schedule computes a learning rate for.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ScheduleStep {
    /// The epoch: 0 when the schedule is built, and one more at each step.
    pub epoch: usize,
    /// How it came to be.
    pub kind: StepKind,
    /// The group, counted from 0.
    pub group: usize,
    /// The learning rate that the group has.
    pub lr: f64,
    /// The learning rate that the group had before the first schedule.
    pub base_lr: f64,
}
