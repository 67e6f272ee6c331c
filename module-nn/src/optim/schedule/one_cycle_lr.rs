use std::f64::consts::PI;

use module_core::{Error, Result, Snapshot, Stateful};
use serde::{Deserialize, Serialize};

use super::ScheduleStep;
use super::common::{Base, Core, Formula, schedule_by_formula};
use super::rates::check_momentums;
use crate::OneOrEach;
use crate::config::{check_between, check_positive, config};
use crate::optim::Optimizer;

const NAME: &str = "OneCycleLR";

/// Raises and lowers the learning rates once over the whole training, and the momentum inversely.
///
/// It begins with `max_lr / div_factor`, rises to `max_lr` in the fraction `pct_start` of all steps, and falls to
/// `max_lr / div_factor / final_div_factor` in the rest; with `three_phase` it first falls to its initial value, in as many
/// steps as it rose. Between a value `a` at step `i` and a value `b` at step `j`, at step `t`:
///
/// ```text
/// p = (t - i)/(j - i)
/// b + (a - b)/2·(1 + cos(π·p))      Cos
/// a + (b - a)·p                     Linear
/// ```
///
/// The momentum is `betas.0` of [`AdamW`](crate::optim::AdamW). There are `total_steps` steps, PyTorch's
/// `epochs·steps_per_epoch`; building the schedule sets the learning rates of the first one, so a final call of `step` is
/// one too many. It is allowed, and continues along the cosine; a linear schedule stays at its end, where PyTorch's goes
/// below 0.
///
/// Source: `torch.optim.lr_scheduler.OneCycleLR`; Smith and Topin, *Super-Convergence: Very Fast Training of Neural
/// Networks Using Large Learning Rates* (2018).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = AdamW::new(&Linear::new(2, 1)?, 0.1)?;
/// let config = OneCycleLRConfig::new(0.5, 11_usize).div_factor(4.0);
/// let mut schedule = config.build(&mut optimizer)?;
/// assert_eq!((optimizer.lr(), optimizer.group_momentums()), (0.125, vec![Some(0.95)]));
/// for _ in 0..11 {
///     schedule.step(&mut optimizer)?;
/// }
/// assert!(schedule.step(&mut optimizer).is_err());
/// # Ok::<(), Error>(())
/// ```
pub struct OneCycleLR {
    formula: OneCycle,
    core: Core,
}

/// The curve of [`OneCycleLR`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AnnealStrategy {
    /// Half a cosine wave.
    Cos,
    /// Linear.
    Linear,
}

config! {
    /// The arguments of [`OneCycleLR`].
    ///
    /// It is an error to build a schedule with a `total_steps` of 0, a `pct_start` outside `[0, 1]`, divisors that are
    /// not above 0 or are infinite, or a number of values that differs from the groups.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let mut optimizer = AdamW::new(&Linear::new(2, 1)?, 0.1)?;
    /// // Up in two of ten steps, down in as many, and further down in the rest.
    /// let config = OneCycleLRConfig::new(1.0, 10)
    ///     .pct_start(0.3)
    ///     .anneal_strategy(AnnealStrategy::Linear)
    ///     .three_phase(true)
    ///     .div_factor(2.0)
    ///     .final_div_factor(50.0)
    ///     .base_momentum(0.5)
    ///     .max_momentum(0.75);
    /// let mut schedule: OneCycleLR = config.build(&mut optimizer)?;
    /// let mut lrs = Vec::new();
    /// for _ in 0..9 {
    ///     schedule.step(&mut optimizer)?;
    ///     lrs.push((100.0 * optimizer.lr()).round());
    /// }
    /// assert_eq!((lrs[1], lrs[3], lrs[8]), (100.0, 50.0, 1.0));
    /// assert_eq!(optimizer.group_momentums(), [Some(0.75)]);
    /// // An optimizer without momentum.
    /// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.1)?;
    /// let schedule = OneCycleLRConfig::new(1.0, 10).cycle_momentum(false).build(&mut optimizer)?;
    /// assert_eq!((schedule.config().total_steps, schedule.last_epoch()), (10, 0));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct OneCycleLRConfig {
        required {
            /// The maximum learning rate, or one for each group.
            max_lr: OneOrEach<f64>,
            /// The total number of steps.
            total_steps: usize,
        }
        optional {
            /// The fraction of the steps in which the learning rate rises.
            pct_start: f64 = 0.3,
            /// The curve.
            anneal_strategy: AnnealStrategy = AnnealStrategy::Cos,
            /// Whether the momentum moves inversely to the learning rate.
            cycle_momentum: bool = true,
            /// The minimum momentum, or one for each group.
            base_momentum: OneOrEach<f64> = 0.85,
            /// The maximum momentum, or one for each group.
            max_momentum: OneOrEach<f64> = 0.95,
            /// The ratio of the maximum learning rate to the initial one.
            div_factor: f64 = 25.0,
            /// The ratio of the initial learning rate to the final one.
            final_div_factor: f64 = 1e4,
            /// Whether the learning rate falls to the initial one before it falls to the final one.
            three_phase: bool = false,
        }
    }
}

impl OneCycleLRConfig {
    /// The schedule; it sets the learning rates and momentums of step 0.
    ///
    /// # Errors
    ///
    /// Arguments outside their ranges, an optimizer without momentum unless `cycle_momentum` is false, a learning rate or a
    /// momentum that the optimizer refuses. Then the optimizer is unchanged.
    pub fn build(&self, optimizer: &mut dyn Optimizer) -> Result<OneCycleLR> {
        let formula = OneCycle::of(self, optimizer.group_lrs().len())?;
        if self.cycle_momentum {
            check_momentums(NAME, optimizer)?;
        }
        let first = formula.max_lrs.iter().map(|max| max / self.div_factor);
        let base = Base::OwnForAll(first.collect());
        let core = Core::new(NAME, base, optimizer, &formula)?;
        Ok(OneCycleLR { formula, core })
    }
}

/// The values at the ends of the phases.
#[derive(Clone, Copy)]
enum End {
    First,
    Greatest,
    Last,
}

/// A phase: its last step, and its initial and final values.
struct Phase {
    end: f64,
    lr: [End; 2],
    /// Whether the momentum is at its maximum at the beginning and at the end.
    momentum_is_max: [bool; 2],
}

/// The arguments, and what follows from them.
struct OneCycle {
    config: OneCycleLRConfig,
    phases: Vec<Phase>,
    max_lrs: Vec<f64>,
    base_momentums: Vec<f64>,
    max_momentums: Vec<f64>,
}

impl OneCycle {
    /// The course for arguments, which are checked.
    fn of(config: &OneCycleLRConfig, groups: usize) -> Result<Self> {
        check_positive(NAME, "total_steps", config.total_steps)?;
        check_between(NAME, "pct_start", config.pct_start, [0.0, 1.0])?;
        check_divisor("div_factor", config.div_factor)?;
        check_divisor("final_div_factor", config.final_div_factor)?;
        let max_lrs = config.max_lr.get(NAME, "max_lr", groups)?;
        let (mut base_momentums, mut max_momentums) = (Vec::new(), Vec::new());
        if config.cycle_momentum {
            base_momentums = config.base_momentum.get(NAME, "base_momentum", groups)?;
            max_momentums = config.max_momentum.get(NAME, "max_momentum", groups)?;
        }
        Ok(Self {
            phases: phases(config),
            config: config.clone(),
            max_lrs,
            base_momentums,
            max_momentums,
        })
    }

    /// The phase of a step, and how far the step is in it.
    fn phase(&self, step: usize) -> Option<(&Phase, f64)> {
        let (step, mut start) = (step as f64, 0.0);
        let (last, others) = self.phases.split_last()?;
        for phase in others {
            if step <= phase.end {
                return Some((phase, (step - start) / (phase.end - start)));
            }
            start = phase.end;
        }
        Some((last, (step - start) / (last.end - start)))
    }

    /// A value between two others.
    fn anneal(&self, [start, end]: [f64; 2], part: f64) -> f64 {
        match self.config.anneal_strategy {
            AnnealStrategy::Cos => end + (start - end) / 2.0 * ((PI * part).cos() + 1.0),
            AnnealStrategy::Linear => (end - start) * part.min(1.0) + start,
        }
    }
}

/// Refuses invalid divisors, including infinity, which is not saved with the state.
fn check_divisor(name: &'static str, value: f64) -> Result<()> {
    if value > 0.0 && value.is_finite() {
        return Ok(());
    }
    let problem = "must be above 0 and finite";
    Err(Error::argument(NAME, name, value, problem))
}

fn phases(config: &OneCycleLRConfig) -> Vec<Phase> {
    let total = config.total_steps as f64;
    let rise = Phase {
        end: config.pct_start * total - 1.0,
        lr: [End::First, End::Greatest],
        momentum_is_max: [true, false],
    };
    if !config.three_phase {
        let fall = Phase {
            end: total - 1.0,
            lr: [End::Greatest, End::Last],
            momentum_is_max: [false, true],
        };
        return vec![rise, fall];
    }
    let fall = Phase {
        end: 2.0 * config.pct_start * total - 2.0,
        lr: [End::Greatest, End::First],
        momentum_is_max: [false, true],
    };
    let rest = Phase {
        end: total - 1.0,
        lr: [End::First, End::Last],
        momentum_is_max: [true, true],
    };
    vec![rise, fall, rest]
}

impl Formula for OneCycle {
    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let (total, max) = (self.config.total_steps, self.max_lrs.get(at.group));
        let (Some((phase, part)), Some(&max), true) =
            (self.phase(at.epoch), max, at.epoch <= total)
        else {
            let problem = format!("there are only {total} steps; set `total_steps` to more");
            return Err(Error::argument(NAME, "step", at.epoch, problem));
        };
        let ends = phase.lr.map(|end| match end {
            End::First => at.base_lr,
            End::Greatest => max,
            End::Last => at.base_lr / self.config.final_div_factor,
        });
        Ok(self.anneal(ends, part))
    }

    fn momentum(&self, at: &ScheduleStep) -> Option<f64> {
        let base = *self.base_momentums.get(at.group)?;
        let max = *self.max_momentums.get(at.group)?;
        let (phase, part) = self.phase(at.epoch)?;
        let ends = phase.momentum_is_max.map(|is| if is { max } else { base });
        Some(self.anneal(ends, part))
    }
}

impl OneCycleLR {
    /// Makes the schedule with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// Those of [`OneCycleLRConfig::build`].
    pub fn new(optimizer: &mut dyn Optimizer, max_lr: f64, total_steps: usize) -> Result<Self> {
        OneCycleLRConfig::new(max_lr, total_steps).build(optimizer)
    }

    /// The arguments.
    pub fn config(&self) -> &OneCycleLRConfig {
        &self.formula.config
    }

    /// The step, counted from 0.
    pub fn last_epoch(&self) -> usize {
        self.core.epoch()
    }
}

schedule_by_formula!(OneCycleLR, |this| this.formula);

/// The arguments, the step, and the learning rates at the start and last set.
impl Stateful for OneCycleLR {
    fn state(&self) -> Result<Snapshot> {
        self.core.save(self.hyperparameters()?)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.formula.config)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let core = self.core.read(state)?;
        let formula = OneCycle::of(&state.get("config")?, core.groups())?;
        *self = Self { formula, core };
        Ok(())
    }
}
