use module_core::{Result, Snapshot, Stateful};

use crate::optim::Optimizer;

/// Changes the learning rates of an optimizer from step to step, or from epoch to epoch.
///
/// A schedule is built for an optimizer, and sets its first learning rates at that time. [`step`](Self::step) sets the next
/// ones; call it after [`Optimizer::step`], as often as the schedule counts: its "epochs" are its own calls. Like
/// PyTorch's, most schedules multiply the current learning rates, so that several combine
/// ([`ChainedScheduler`](super::ChainedScheduler)), and a manually changed rate stays changed.
///
/// To resume a run, build the optimizer and the schedules as before, then restore the optimizer, then the schedules. The
/// current rates are in the state of the optimizer, and building a schedule changes them.
///
/// A `Box<dyn Schedule>` is saved and restored like any other; [`ScheduleRule`](super::ScheduleRule) makes one from a
/// formula.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let model = Linear::new(2, 1)?;
/// let mut optimizer = SGD::new(&model, 0.5)?;
/// let mut schedule: Box<dyn Schedule> = Box::new(ExponentialLR::new(&mut optimizer, 0.5)?);
/// for expected in [0.5, 0.25, 0.125] {
///     assert_eq!(optimizer.lr(), expected);
///     model.zero_grad();
///     model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()?;
///     optimizer.step(&model)?;
///     schedule.step(&mut optimizer)?;
/// }
///
/// // The same schedule from the start, from the rates before the first one.
/// assert_eq!(schedule.last_lrs(), [0.0625]);
/// schedule.restart(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.5);
/// // From the rate that the optimizer has now.
/// optimizer.set_lr(0.2)?;
/// schedule.start(&mut optimizer)?;
/// assert_eq!(schedule.last_lrs(), [0.2]);
/// # Ok::<(), Error>(())
/// ```
#[doc(alias = "LRScheduler")]
pub trait Schedule: Stateful {
    /// Sets the learning rates of the next epoch: PyTorch's `scheduler.step()`.
    ///
    /// # Errors
    ///
    /// An optimizer with another number of groups than the schedule was built for, and those of the schedule;
    /// then nothing is changed.
    fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<()>;

    /// The learning rate of each group as this schedule last set it: PyTorch's `get_last_lr`.
    fn last_lrs(&self) -> &[f64];

    /// Goes back to epoch 0, from the optimizer's current learning rates, as if the schedule were rebuilt.
    ///
    /// # Errors
    ///
    /// Those of [`step`](Self::step).
    fn start(&mut self, optimizer: &mut dyn Optimizer) -> Result<()>;

    /// Goes to epoch 0 when [`SequentialLR`](super::SequentialLR) reaches this schedule: from the learning rates before the
    /// first schedule ([`Optimizer::initial_lrs`]), whatever the previous schedule left.
    ///
    /// # Errors
    ///
    /// Those of [`step`](Self::step).
    fn restart(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        let before = super::rates::Rates::of(optimizer);
        let initial = optimizer.initial_lrs();
        let started = match initial {
            Some(lrs) => super::rates::set_lrs(optimizer, &lrs),
            None => Ok(()),
        };
        let started = started.and_then(|()| self.start(optimizer));
        if started.is_err() {
            before.restore(optimizer);
        }
        started
    }
}

impl Stateful for Box<dyn Schedule> {
    fn state(&self) -> Result<Snapshot> {
        (**self).state()
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        (**self).load_state(state)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        (**self).hyperparameters()
    }
}
