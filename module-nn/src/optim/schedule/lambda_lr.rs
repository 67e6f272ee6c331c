use module_core::{Result, Snapshot, Stateful};

use super::common::{Base, Core, Formula, schedule_by_formula};
use super::lambdas::Lambdas;
use super::{LRLambda, ScheduleStep};
use crate::optim::Optimizer;

const NAME: &str = "LambdaLR";

/// Multiplies the base learning rates by a function of the epoch.
///
/// ```text
/// η = η₀·f(t)          at epoch t
/// ```
///
/// The function is not saved: a schedule is restored into one built with the same function.
///
/// Source: `torch.optim.lr_scheduler.LambdaLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let mut schedule = LambdaLR::new(&mut optimizer, |epoch| 1.0 / (1 + epoch) as f64)?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!((optimizer.lr(), schedule.last_epoch()), (0.25, 1));
/// # Ok::<(), Error>(())
/// ```
pub struct LambdaLR {
    lambdas: Lambdas,
    core: Core,
}

impl LambdaLR {
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let config = SGDConfig::new(0.5).group("bias", |g| g);
    /// let mut optimizer = config.build(&Linear::new(2, 1)?)?;
    /// let falls = |epoch| 1.0 / (1 + epoch) as f64;
    /// let mut schedule = LambdaLR::each(&mut optimizer, vec![Box::new(falls), Box::new(|_| 1.0)])?;
    /// schedule.step(&mut optimizer)?;
    /// assert_eq!(schedule.last_lrs(), [0.25, 0.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn each(optimizer: &mut dyn Optimizer, lr_lambdas: Vec<LRLambda>) -> Result<Self> {
        Self::with(optimizer, Lambdas::Each(lr_lambdas))
    }

    fn with(optimizer: &mut dyn Optimizer, lambdas: Lambdas) -> Result<Self> {
        lambdas.check(NAME, optimizer.group_lrs().len())?;
        let core = Core::new(NAME, Base::OfOptimizer, optimizer, &OfBase(&lambdas))?;
        Ok(Self { lambdas, core })
    }

    /// The epoch: how many steps there were.
    pub fn last_epoch(&self) -> usize {
        self.core.epoch()
    }
}

struct OfBase<'a>(&'a Lambdas);

impl Formula for OfBase<'_> {
    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        Ok(at.base_lr * self.0.factor(at.group, at.epoch))
    }
}

schedule_by_formula!(LambdaLR, |this| OfBase(&this.lambdas));

/// The epoch, and the learning rates at the start and last set.
impl Stateful for LambdaLR {
    fn state(&self) -> Result<Snapshot> {
        self.core.save(Snapshot::default())
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        self.core = self.core.read(state)?;
        Ok(())
    }
}
