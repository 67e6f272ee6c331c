use module_core::{Result, Snapshot, Stateful};

use super::common::{Base, Core, Formula, schedule_by_formula};
use super::lambdas::Lambdas;
use super::{LRLambda, ScheduleStep, StepKind};
use crate::optim::Optimizer;

const NAME: &str = "MultiplicativeLR";

/// Multiplies the learning rates by a function of the epoch.
///
/// ```text
/// η ← η·f(t)          at epoch t > 0
/// ```
///
/// The function is not saved: a schedule is restored into one built with the same function. After another schedule it
/// continues from the learning rates of that one, times `f(0)`, like PyTorch's.
///
/// Source: `torch.optim.lr_scheduler.MultiplicativeLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let mut schedule = MultiplicativeLR::new(&mut optimizer, |_epoch| 0.5)?;
/// schedule.step(&mut optimizer)?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!((optimizer.lr(), schedule.last_epoch()), (0.125, 2));
///
/// let mut schedule = MultiplicativeLR::each(&mut optimizer, vec![Box::new(|_epoch| 2.0)])?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!(schedule.last_lrs(), [0.25]);
/// # Ok::<(), Error>(())
/// ```
pub struct MultiplicativeLR {
    lambdas: Lambdas,
    core: Core,
}

impl MultiplicativeLR {
    /// One function for all groups.
    ///
    /// # Errors
    ///
    /// A learning rate that is negative or not finite; then the optimizer is unchanged.
    pub fn new(
        optimizer: &mut dyn Optimizer,
        lr_lambda: impl Fn(usize) -> f64 + Send + 'static,
    ) -> Result<Self> {
        Self::with(optimizer, Lambdas::One(Box::new(lr_lambda)))
    }

    /// A function for each group.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and a number of functions that differs from the groups.
    pub fn each(optimizer: &mut dyn Optimizer, lr_lambdas: Vec<LRLambda>) -> Result<Self> {
        Self::with(optimizer, Lambdas::Each(lr_lambdas))
    }

    fn with(optimizer: &mut dyn Optimizer, lambdas: Lambdas) -> Result<Self> {
        lambdas.check(NAME, optimizer.group_lrs().len())?;
        let core = Core::new(NAME, Base::OfOptimizer, optimizer, &OfPresent(&lambdas))?;
        Ok(Self { lambdas, core })
    }

    /// The epoch: how many steps there were.
    pub fn last_epoch(&self) -> usize {
        self.core.epoch()
    }
}

struct OfPresent<'a>(&'a Lambdas);

impl Formula for OfPresent<'_> {
    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        Ok(match at.kind {
            StepKind::First => at.lr,
            StepKind::Next | StepKind::Restart => at.lr * self.0.factor(at.group, at.epoch),
        })
    }
}

schedule_by_formula!(MultiplicativeLR, |this| OfPresent(&this.lambdas));

/// The epoch, and the learning rates at the start and last set.
impl Stateful for MultiplicativeLR {
    fn state(&self) -> Result<Snapshot> {
        self.core.save(Snapshot::default())
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        self.core = self.core.read(state)?;
        Ok(())
    }
}
