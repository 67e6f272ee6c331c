use module_core::{Error, Result, Snapshot, Stateful};

use super::{Schedule, parts, rates};
use crate::optim::Optimizer;

const NAME: &str = "SequentialLR";

/// Runs schedules one after another, each until its milestone.
///
/// At epoch `t`, the active schedule has as many predecessors as there are milestones up to `t`. The first one starts from
/// the learning rates before all schedules, and so does each later one, whatever its predecessor left; only
/// [`MultiplicativeLR`](super::MultiplicativeLR) continues from there.
///
/// [`ReduceLROnPlateau`](super::ReduceLROnPlateau) is not a [`Schedule`], because it needs a metric. A schedule that is
/// itself composed of others behaves as if it were built when its turn comes, which PyTorch does not support.
///
/// Source: `torch.optim.lr_scheduler.SequentialLR`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 1.0)?;
/// let warmup = LinearLRConfig::new().start_factor(0.5).total_iters(2_usize);
/// let schedules: Vec<Box<dyn Schedule>> = vec![
///     Box::new(warmup.build(&mut optimizer)?),
///     Box::new(ExponentialLR::new(&mut optimizer, 0.5)?),
/// ];
/// let mut schedule = SequentialLR::new(&mut optimizer, schedules, [2])?;
/// let mut lrs = vec![optimizer.lr()];
/// for _ in 0..3 {
///     schedule.step(&mut optimizer)?;
///     lrs.push(optimizer.lr());
/// }
/// assert_eq!(lrs, [0.5, 0.75, 1.0, 0.5]);
/// assert_eq!(schedule.last_epoch(), 3);
/// # Ok::<(), Error>(())
/// ```
pub struct SequentialLR {
    schedules: Vec<Box<dyn Schedule>>,
    milestones: Vec<usize>,
    epoch: usize,
    last_lrs: Vec<f64>,
}

impl SequentialLR {
    /// Runs schedules that were built for this optimizer, with the epochs at which all but the first begin.
    ///
    /// # Errors
    ///
    /// No schedules, a number of milestones other than one less than the schedules, decreasing milestones, an optimizer
    /// without [`initial_lrs`](Optimizer::initial_lrs), and those of [`Schedule::step`]. Then the optimizer is unchanged.
    pub fn new(
        optimizer: &mut dyn Optimizer,
        schedules: Vec<Box<dyn Schedule>>,
        milestones: impl Into<Vec<usize>>,
    ) -> Result<Self> {
        let milestones = milestones.into();
        check(&schedules, &milestones)?;
        let Some(initial) = optimizer.initial_lrs() else {
            let problem = "it keeps no learning rates from before the first schedule; implement \
                           `Optimizer::initial_lrs` and `set_initial_lrs`, and build the schedules for it";
            let value = "without `initial_lrs`";
            return Err(Error::argument(NAME, "optimizer", value, problem));
        };
        let mut sequence = Self {
            schedules,
            milestones,
            epoch: 0,
            last_lrs: Vec::new(),
        };
        let before = rates::Rates::of(optimizer);
        let started = rates::set_lrs(optimizer, &initial);
        let started = started.and_then(|()| sequence.start(optimizer));
        if started.is_err() {
            before.restore(optimizer);
        }
        started.map(|()| sequence)
    }

    /// The epoch: how many steps there were.
    pub fn last_epoch(&self) -> usize {
        self.epoch
    }

    /// Steps the schedule of an epoch.
    fn go(
        &mut self,
        epoch: usize,
        act: impl FnOnce(&mut dyn Schedule, bool) -> Result<()>,
    ) -> Result<()> {
        let reached = self.milestones.iter().filter(|start| **start <= epoch);
        let begins = reached.clone().next_back() == Some(&epoch);
        let acting = reached.count();
        let Some(schedule) = self.schedules.get_mut(acting) else {
            return Ok(());
        };
        act(schedule.as_mut(), begins)?;
        self.last_lrs = schedule.last_lrs().to_vec();
        self.epoch = epoch;
        Ok(())
    }
}

fn check(schedules: &[Box<dyn Schedule>], milestones: &[usize]) -> Result<()> {
    let fail = |problem: String| {
        let value = format!("{milestones:?}");
        Err(Error::argument(NAME, "milestones", value, problem))
    };
    let count = schedules.len();
    if count == 0 {
        let problem = "there must be at least one schedule";
        return Err(Error::argument(NAME, "schedules", "[]", problem));
    }
    if milestones.len() + 1 != count {
        return fail(format!("must be one fewer than the {count} schedule(s)"));
    }
    if !milestones.is_sorted() {
        return fail("must not fall".to_owned());
    }
    Ok(())
}

impl Schedule for SequentialLR {
    fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        let next = self.epoch.saturating_add(1);
        self.go(next, |schedule, begins| match begins {
            true => schedule.restart(optimizer),
            false => schedule.step(optimizer),
        })
    }

    fn last_lrs(&self) -> &[f64] {
        &self.last_lrs
    }

    fn start(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.go(0, |schedule, _| schedule.start(optimizer))
    }

    fn restart(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.go(0, |schedule, _| schedule.restart(optimizer))
    }
}

/// The epoch, the milestones, and the states of all schedules.
impl Stateful for SequentialLR {
    fn state(&self) -> Result<Snapshot> {
        parts::save(NAME, &self.schedules, &self.last_lrs)?
            .with("last_epoch", &self.epoch)?
            .with("milestones", &self.milestones)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("milestones", &self.milestones)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        super::common::check_name(NAME, state)?;
        let (epoch, milestones) = (state.get("last_epoch")?, state.get::<Vec<_>>("milestones")?);
        check(&self.schedules, &milestones)?;
        self.last_lrs = parts::load(NAME, &mut self.schedules, state)?;
        (self.epoch, self.milestones) = (epoch, milestones);
        Ok(())
    }
}
