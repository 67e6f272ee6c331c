use module_core::{Result, Snapshot, Stateful};
use serde::{Deserialize, Serialize};

use super::ScheduleStep;
use super::common::{Base, Core, Formula, schedule_by_formula};
use super::rates::check_momentums;
use crate::OneOrEach;
use crate::config::{check_positive, config};
use crate::optim::Optimizer;

const NAME: &str = "CyclicLR";

/// Cycles the learning rates between two bounds, and the momentum inversely.
///
/// With `u` steps up and `d` down, at epoch `t`, in cycle `c`:
///
/// ```text
/// c = ⌊1 + t/(u + d)⌋     x = 1 + t/(u + d) - c     r = u/(u + d)
/// s = x/r  if x ≤ r,  otherwise (x - 1)/(r - 1)
/// η = base_lr + (max_lr - base_lr)·s·f
/// μ = max_momentum - (max_momentum - base_momentum)·s·f
/// ```
///
/// where `f` is 1 (`Triangular`), `1/2^(c - 1)` (`Triangular2`), `γᵗ` (`ExpRange`), or a function of your own
/// ([`CyclicLRConfig::build_scaled`]). The momentum is `betas.0` of [`AdamW`](crate::optim::AdamW).
///
/// Source: `torch.optim.lr_scheduler.CyclicLR`; Smith, *Cyclical Learning Rates for Training Neural Networks* (2017).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&Linear::new(2, 1)?)?;
/// let config = CyclicLRConfig::new(0.125, 0.625).step_size_up(4_usize);
/// let mut schedule = config.build(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.125);
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.25);
/// assert_eq!(optimizer.group_momentums(), [Some(0.875)]);
/// # Ok::<(), Error>(())
/// ```
pub struct CyclicLR {
    formula: Cyclic,
    core: Core,
}

/// How the cycles of [`CyclicLR`] change.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&Linear::new(2, 1)?)?;
/// let config = CyclicLRConfig::new(0.0, 1.0).step_size_up(1).mode(CyclicLRMode::ExpRange).gamma(0.5);
/// let mut schedule = config.build(&mut optimizer)?;
/// schedule.step(&mut optimizer)?;
/// assert_eq!(optimizer.lr(), 0.5); // 0.5¹
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CyclicLRMode {
    /// They stay as they are.
    Triangular,
    /// The amplitude is halved in each cycle.
    Triangular2,
    /// The amplitude is multiplied by `gamma` in each step.
    ExpRange,
}

/// The argument of a scale function of [`CyclicLR`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CyclicScaleMode {
    /// The number of the cycle, from 1.
    Cycle,
    /// The number of the step, from 0.
    Iterations,
}

config! {
    /// The arguments of [`CyclicLR`].
    ///
    /// It is an error to build a schedule with a `step_size_up` of 0, or with a number of values that differs from the
    /// groups.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let mut optimizer = SGDConfig::new(0.1).momentum(0.9).build(&Linear::new(2, 1)?)?;
    /// let config = CyclicLRConfig::new(0.0, 1.0)
    ///     .step_size_up(1)
    ///     .step_size_down(2)
    ///     .mode(CyclicLRMode::Triangular2)
    ///     .base_momentum(0.5)
    ///     .max_momentum(0.75);
    /// let mut schedule: CyclicLR = config.build(&mut optimizer)?;
    /// let mut lrs = Vec::new();
    /// for _ in 0..4 {
    ///     schedule.step(&mut optimizer)?;
    ///     lrs.push((100.0 * optimizer.lr()).round());
    /// }
    /// assert_eq!(lrs, [100.0, 50.0, 0.0, 50.0]); // The second cycle is half as high.
    /// // Without momentum, and with the number of the step for a function of your own.
    /// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.1)?;
    /// let config = CyclicLRConfig::new(0.0, 1.0).step_size_up(1).cycle_momentum(false);
    /// let config = config.scale_mode(CyclicScaleMode::Iterations);
    /// let mut schedule = config.build_scaled(&mut optimizer, |step| 1.0 / (1.0 + step))?;
    /// schedule.step(&mut optimizer)?;
    /// assert_eq!(optimizer.lr(), 0.5);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CyclicLRConfig {
        required {
            /// The minimum learning rate, or one for each group.
            base_lr: OneOrEach<f64>,
            /// The maximum learning rate, or one for each group.
            max_lr: OneOrEach<f64>,
        }
        optional {
            /// The steps of the rising half.
            step_size_up: usize = 2000,
            /// The steps of the falling half; by default, as many as of the rising one.
            step_size_down: Option<usize> = None,
            /// How the cycles change.
            mode: CyclicLRMode = CyclicLRMode::Triangular,
            /// The factor of `ExpRange`.
            gamma: f64 = 1.0,
            /// The argument of the function in [`build_scaled`](CyclicLRConfig::build_scaled).
            scale_mode: CyclicScaleMode = CyclicScaleMode::Cycle,
            /// Whether the momentum moves inversely to the learning rate.
            cycle_momentum: bool = true,
            /// The minimum momentum, or one for each group.
            base_momentum: OneOrEach<f64> = 0.8,
            /// The maximum momentum, or one for each group.
            max_momentum: OneOrEach<f64> = 0.9,
        }
    }
}

/// The amplitude of a cycle, by its number or by that of the step.
type ScaleFn = Box<dyn Fn(f64) -> f64 + Send>;

impl CyclicLRConfig {
    /// The schedule; it sets the learning rates and momentums of epoch 0. For an optimizer that has had another schedule,
    /// PyTorch sets the rates from before the first of them here, and `base_lr` only from the first step on.
    ///
    /// # Errors
    ///
    /// A `step_size_up` of 0, a number of values that differs from the groups, an optimizer without momentum unless
    /// `cycle_momentum` is false, a learning rate or a momentum that the optimizer refuses. Then the optimizer is
    /// unchanged.
    pub fn build(&self, optimizer: &mut dyn Optimizer) -> Result<CyclicLR> {
        self.build_by(optimizer, None)
    }

    /// [`build`](Self::build), with the amplitude of each cycle computed by a function: PyTorch's `scale_fn`. `scale_mode`
    /// chooses its argument; `mode` is ignored. The function is not saved.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build).
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.1)?;
    /// let config = CyclicLRConfig::new(0.0, 0.5).step_size_up(1_usize);
    /// let mut schedule = config.build_scaled(&mut optimizer, |cycle| 1.0 / cycle)?;
    /// for _ in 0..3 {
    ///     schedule.step(&mut optimizer)?;
    /// }
    /// assert_eq!(optimizer.lr(), 0.25);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn build_scaled(
        &self,
        optimizer: &mut dyn Optimizer,
        scale_fn: impl Fn(f64) -> f64 + Send + 'static,
    ) -> Result<CyclicLR> {
        self.build_by(optimizer, Some(Box::new(scale_fn)))
    }

    fn build_by(
        &self,
        optimizer: &mut dyn Optimizer,
        scale_fn: Option<ScaleFn>,
    ) -> Result<CyclicLR> {
        let groups = Groups::of(self, optimizer.group_lrs().len())?;
        if self.cycle_momentum {
            check_momentums(NAME, optimizer)?;
        }
        let base = Base::Own(self.base_lr.get(NAME, "base_lr", groups.max_lrs.len())?);
        let formula = Cyclic {
            config: self.clone(),
            groups,
            scale_fn,
        };
        let core = Core::new(NAME, base, optimizer, &formula)?;
        Ok(CyclicLR { formula, core })
    }
}

/// The bounds of each group.
struct Groups {
    max_lrs: Vec<f64>,
    base_momentums: Vec<f64>,
    max_momentums: Vec<f64>,
}

impl Groups {
    /// The bounds from arguments, which are checked.
    fn of(config: &CyclicLRConfig, groups: usize) -> Result<Self> {
        check_positive(NAME, "step_size_up", config.step_size_up)?;
        config.base_lr.get(NAME, "base_lr", groups)?;
        let max_lrs = config.max_lr.get(NAME, "max_lr", groups)?;
        let (mut base_momentums, mut max_momentums) = (Vec::new(), Vec::new());
        if config.cycle_momentum {
            base_momentums = config.base_momentum.get(NAME, "base_momentum", groups)?;
            max_momentums = config.max_momentum.get(NAME, "max_momentum", groups)?;
        }
        Ok(Self {
            max_lrs,
            base_momentums,
            max_momentums,
        })
    }
}

struct Cyclic {
    config: CyclicLRConfig,
    groups: Groups,
    scale_fn: Option<ScaleFn>,
}

impl Cyclic {
    /// How far an epoch is from the lower bound, as a fraction of the whole range, and the amplitude of its cycle.
    fn factors(&self, epoch: usize) -> (f64, f64) {
        let config = &self.config;
        let up = config.step_size_up as f64;
        let total = up + config.step_size_down.map_or(up, |down| down as f64);
        let (ratio, epoch) = (up / total, epoch as f64);
        let cycle = (1.0 + epoch / total).floor();
        let x = 1.0 + epoch / total - cycle;
        let way = if x <= ratio {
            x / ratio
        } else {
            (x - 1.0) / (ratio - 1.0)
        };
        let height = match (&self.scale_fn, config.mode, config.scale_mode) {
            (Some(scale), _, CyclicScaleMode::Cycle) => scale(cycle),
            (Some(scale), _, CyclicScaleMode::Iterations) => scale(epoch),
            (None, CyclicLRMode::Triangular, _) => 1.0,
            (None, CyclicLRMode::Triangular2, _) => 1.0 / 2.0_f64.powf(cycle - 1.0),
            (None, CyclicLRMode::ExpRange, _) => config.gamma.powf(epoch),
        };
        (way, height)
    }
}

impl Formula for Cyclic {
    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let max = self.groups.max_lrs.get(at.group);
        let max = max.copied().unwrap_or(f64::NAN);
        let (way, height) = self.factors(at.epoch);
        Ok(at.base_lr + (max - at.base_lr) * way * height)
    }

    fn momentum(&self, at: &ScheduleStep) -> Option<f64> {
        let base = self.groups.base_momentums.get(at.group)?;
        let max = self.groups.max_momentums.get(at.group)?;
        let (way, height) = self.factors(at.epoch);
        Some(max - (max - base) * way * height)
    }
}

impl CyclicLR {
    /// Makes the schedule with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// Those of [`CyclicLRConfig::build`].
    pub fn new(optimizer: &mut dyn Optimizer, base_lr: f64, max_lr: f64) -> Result<Self> {
        CyclicLRConfig::new(base_lr, max_lr).build(optimizer)
    }

    /// The arguments.
    pub fn config(&self) -> &CyclicLRConfig {
        &self.formula.config
    }

    /// The epoch: how many steps there were.
    pub fn last_epoch(&self) -> usize {
        self.core.epoch()
    }
}

schedule_by_formula!(CyclicLR, |this| this.formula);

/// The arguments except the function, the epoch, and the learning rates at the start and last set.
impl Stateful for CyclicLR {
    fn state(&self) -> Result<Snapshot> {
        self.core.save(self.hyperparameters()?)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.formula.config)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let core = self.core.read(state)?;
        let config: CyclicLRConfig = state.get("config")?;
        let groups = Groups::of(&config, core.groups())?;
        (self.formula.config, self.formula.groups) = (config, groups);
        self.core = core;
        Ok(())
    }
}
