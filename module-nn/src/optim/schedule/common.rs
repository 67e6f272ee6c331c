//! Code that the formula schedules share: the epoch, the base rates, and a step.

use module_core::{Error, Result, Snapshot};

use super::rates::{self, check_groups, check_lr};
use super::{ScheduleStep, StepKind};
use crate::optim::Optimizer;

/// The learning rate and the momentum of a group at an epoch.
pub(super) trait Formula {
    fn lr(&self, at: &ScheduleStep) -> Result<f64>;

    fn momentum(&self, at: &ScheduleStep) -> Option<f64> {
        let _ = at;
        None
    }
}

/// The initial learning rates.
pub(super) enum Base {
    /// Those from before the first schedule, or the current ones.
    OfOptimizer,
    /// These; those from before the first schedule stay, if there are any.
    Own(Vec<f64>),
    /// These, also for schedules that are built later.
    OwnForAll(Vec<f64>),
}

/// The state of a formula schedule.
pub(super) struct Core {
    name: &'static str,
    epoch: usize,
    base_lrs: Vec<f64>,
    last_lrs: Vec<f64>,
}

impl Core {
    /// Begins at epoch 0, and sets its learning rates.
    pub(super) fn new(
        name: &'static str,
        base: Base,
        optimizer: &mut dyn Optimizer,
        formula: &dyn Formula,
    ) -> Result<Self> {
        let present = optimizer.group_lrs();
        let kept = optimizer.initial_lrs();
        let (base_lrs, initial) = match (base, kept) {
            (Base::OfOptimizer, Some(kept)) => (kept, None),
            (Base::OfOptimizer, None) => (present.clone(), Some(present)),
            (Base::Own(own), Some(_)) => (own, None),
            (Base::Own(own), None) | (Base::OwnForAll(own), _) => (own.clone(), Some(own)),
        };
        let mut core = Self {
            name,
            epoch: 0,
            base_lrs,
            last_lrs: Vec::new(),
        };
        core.go(0, StepKind::First, optimizer, formula)?;
        if let Some(initial) = initial {
            optimizer.set_initial_lrs(&initial);
        }
        Ok(core)
    }

    /// Sets the learning rates of the next epoch.
    pub(super) fn step(
        &mut self,
        optimizer: &mut dyn Optimizer,
        formula: &dyn Formula,
    ) -> Result<()> {
        let next = self.epoch.saturating_add(1);
        self.go(next, StepKind::Next, optimizer, formula)
    }

    /// Goes to an epoch, and sets its learning rates.
    pub(super) fn go(
        &mut self,
        epoch: usize,
        kind: StepKind,
        optimizer: &mut dyn Optimizer,
        formula: &dyn Formula,
    ) -> Result<()> {
        check_groups(self.name, self.base_lrs.len(), optimizer)?;
        let (mut lrs, mut momentums) = (Vec::new(), Vec::new());
        let groups = optimizer.group_lrs().into_iter().zip(&self.base_lrs);
        for (group, (lr, &base_lr)) in groups.enumerate() {
            let at = ScheduleStep {
                epoch,
                kind,
                group,
                lr,
                base_lr,
            };
            lrs.push(check_lr(self.name, formula.lr(&at)?, base_lr)?);
            momentums.push(formula.momentum(&at));
        }
        rates::set(optimizer, &lrs, &momentums)?;
        (self.epoch, self.last_lrs) = (epoch, lrs);
        Ok(())
    }

    pub(super) fn epoch(&self) -> usize {
        self.epoch
    }

    pub(super) fn last_lrs(&self) -> &[f64] {
        &self.last_lrs
    }

    pub(super) fn groups(&self) -> usize {
        self.base_lrs.len()
    }

    /// The snapshot with all of it.
    pub(super) fn save(&self, snapshot: Snapshot) -> Result<Snapshot> {
        snapshot
            .with("schedule", &self.name)?
            .with("last_epoch", &self.epoch)?
            .with("base_lrs", &self.base_lrs)?
            .with("last_lrs", &self.last_lrs)
    }

    /// The content of a snapshot of the same schedule with the same number of groups.
    pub(super) fn read(&self, state: &Snapshot) -> Result<Self> {
        check_name(self.name, state)?;
        let read = Self {
            name: self.name,
            epoch: state.get("last_epoch")?,
            base_lrs: state.get("base_lrs")?,
            last_lrs: state.get("last_lrs")?,
        };
        let (own, saved) = (self.base_lrs.len(), read.base_lrs.len());
        if (saved, read.last_lrs.len()) == (own, own) {
            return Ok(read);
        }
        let problem = format!(
            "the state has {saved} group(s), and {} was built for {own}; build it for an optimizer with the \
             groups that were saved",
            self.name
        );
        let value = format!("{:?}", read.base_lrs);
        Err(Error::argument("load_state", "base_lrs", value, problem))
    }
}

/// Implements [`Schedule`](super::Schedule) for a struct with a `core`, by a formula of its other fields.
macro_rules! schedule_by_formula {
    ($schedule:ty, |$this:ident| $formula:expr $(, $rule:ident: $bound:ident)?) => {
        impl $(<$rule: $bound>)? $crate::optim::Schedule for $schedule {
            fn step(&mut self, optimizer: &mut dyn $crate::optim::Optimizer) -> Result<()> {
                let $this = self;
                $this.core.step(optimizer, &$formula)
            }

            fn last_lrs(&self) -> &[f64] {
                self.core.last_lrs()
            }

            fn start(&mut self, optimizer: &mut dyn $crate::optim::Optimizer) -> Result<()> {
                let ($this, kind) = (self, $crate::optim::StepKind::First);
                $this.core.go(0, kind, optimizer, &$formula)
            }

            fn restart(&mut self, optimizer: &mut dyn $crate::optim::Optimizer) -> Result<()> {
                let ($this, kind) = (self, $crate::optim::StepKind::Restart);
                $this.core.go(0, kind, optimizer, &$formula)
            }
        }
    };
}
pub(super) use schedule_by_formula;

/// Refuses the state of anything but the schedule with this name.
pub(super) fn check_name(name: &'static str, state: &Snapshot) -> Result<()> {
    let saved = state.get::<String>("schedule");
    let (value, what) = match &saved {
        Ok(saved) if saved == name => return Ok(()),
        Ok(saved) => (saved.as_str(), format!("of {saved}")),
        Err(_) => ("without `schedule`", "of no schedule".to_owned()),
    };
    let problem = format!(
        "it is the state {what}, and this is {name}; build the schedule that was saved, or start this one \
         without a state"
    );
    Err(Error::argument("load_state", "state", value, problem))
}
