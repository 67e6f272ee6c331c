use module_core::{Error, Result, Snapshot, Stateful};

use super::{Schedule, parts};
use crate::optim::Optimizer;

const NAME: &str = "ChainedScheduler";

/// Combines schedules: each multiplies the learning rates that the previous one has set.
///
/// Schedules that compute rates only from the base rate ([`LambdaLR`](super::LambdaLR), [`CyclicLR`](super::CyclicLR),
/// [`OneCycleLR`](super::OneCycleLR), [`WarmupCosine`](super::WarmupCosine),
/// [`CosineAnnealingWarmRestarts`](super::CosineAnnealingWarmRestarts)) overwrite those before them.
///
/// Source: `torch.optim.lr_scheduler.ChainedScheduler`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 1.0)?;
/// let first_steps = ConstantLRConfig::new().factor(0.5).total_iters(2_usize);
/// let schedules: Vec<Box<dyn Schedule>> = vec![
///     Box::new(first_steps.build(&mut optimizer)?),
///     Box::new(ExponentialLR::new(&mut optimizer, 0.5)?),
/// ];
/// let mut schedule = ChainedScheduler::new(&mut optimizer, schedules)?;
/// let mut lrs = vec![optimizer.lr()];
/// for _ in 0..2 {
///     schedule.step(&mut optimizer)?;
///     lrs.push(optimizer.lr());
/// }
/// assert_eq!(lrs, [0.5, 0.25, 0.25]);
/// # Ok::<(), Error>(())
/// ```
pub struct ChainedScheduler {
    schedules: Vec<Box<dyn Schedule>>,
    last_lrs: Vec<f64>,
}

impl ChainedScheduler {
    /// Combines schedules that were built for this optimizer, in this order.
    ///
    /// # Errors
    ///
    /// No schedules.
    pub fn new(optimizer: &mut dyn Optimizer, schedules: Vec<Box<dyn Schedule>>) -> Result<Self> {
        if schedules.is_empty() {
            let problem = "there must be at least one schedule";
            return Err(Error::argument(NAME, "schedules", "[]", problem));
        }
        let last_lrs = optimizer.group_lrs();
        Ok(Self {
            schedules,
            last_lrs,
        })
    }

    /// Steps all schedules, or none.
    fn each(
        &mut self,
        optimizer: &mut dyn Optimizer,
        act: impl Fn(&mut dyn Schedule, &mut dyn Optimizer) -> Result<()>,
    ) -> Result<()> {
        parts::all_or_nothing(&mut self.schedules, optimizer, |schedules, optimizer| {
            let mut schedules = schedules.iter_mut();
            schedules.try_for_each(|schedule| act(schedule.as_mut(), optimizer))
        })?;
        self.last_lrs = optimizer.group_lrs();
        Ok(())
    }
}

impl Schedule for ChainedScheduler {
    fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.each(optimizer, |schedule, optimizer| schedule.step(optimizer))
    }

    fn last_lrs(&self) -> &[f64] {
        &self.last_lrs
    }

    fn start(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.each(optimizer, |schedule, optimizer| schedule.start(optimizer))
    }
}

/// The states of all schedules.
impl Stateful for ChainedScheduler {
    fn state(&self) -> Result<Snapshot> {
        parts::save(NAME, &self.schedules, &self.last_lrs)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        self.last_lrs = parts::load(NAME, &mut self.schedules, state)?;
        Ok(())
    }
}
