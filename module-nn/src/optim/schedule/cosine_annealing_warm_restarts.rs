use std::f64::consts::PI;

use module_core::{Error, Result, Snapshot, Stateful};
use serde::{Deserialize, Serialize};

use super::common::{Base, Core, Formula};
use super::{Schedule, ScheduleStep, StepKind};
use crate::config::{check_positive, config};
use crate::optim::Optimizer;

const NAME: &str = "CosineAnnealingWarmRestarts";

/// Lowers the learning rates along half a cosine wave, repeatedly, optionally with growing periods.
///
/// With the minimum learning rate `e = eta_min`, the base `η₀`, and `c` epochs since the last restart out of `T` until the
/// next, where `T` is initially `t_0` and is multiplied by `t_mult` after each restart:
///
/// ```text
/// η = e + (η₀ - e)·(1 + cos(π·c/T))/2
/// ```
///
/// It is computed only from the base rate: a manually changed rate is overwritten.
///
/// Source: `torch.optim.lr_scheduler.CosineAnnealingWarmRestarts`; Loshchilov and Hutter, *SGDR: Stochastic Gradient
/// Descent with Warm Restarts* (2017).
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let config = CosineAnnealingWarmRestartsConfig::new(2_usize).t_mult(2_usize);
/// let mut schedule = config.build(&mut optimizer)?;
/// let mut lrs = Vec::new();
/// for _ in 0..4 {
///     schedule.step(&mut optimizer)?;
///     lrs.push(optimizer.lr());
/// }
/// assert_eq!((lrs[1], lrs[3]), (0.5, 0.25));
/// // Within an epoch: half of the second one.
/// schedule.step_to(1.5, &mut optimizer)?;
/// assert!(optimizer.lr() < 0.08);
/// # Ok::<(), Error>(())
/// ```
pub struct CosineAnnealingWarmRestarts {
    config: CosineAnnealingWarmRestartsConfig,
    wave: Wave,
    core: Core,
}

config! {
    /// The arguments of [`CosineAnnealingWarmRestarts`].
    ///
    /// It is an error to build a schedule with a `t_0` or `t_mult` of 0.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
    /// let config = CosineAnnealingWarmRestartsConfig::new(2).eta_min(0.1);
    /// let mut schedule: CosineAnnealingWarmRestarts = config.build(&mut optimizer)?;
    /// schedule.step(&mut optimizer)?; // Half of the period.
    /// assert!((optimizer.lr() - 0.3).abs() < 1e-12);
    /// assert_eq!((schedule.last_epoch(), schedule.config().t_mult), (1, 1));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CosineAnnealingWarmRestartsConfig {
        required {
            /// The epochs to the first restart: PyTorch's `T_0`.
            t_0: usize,
        }
        optional {
            /// The factor of each period: PyTorch's `T_mult`.
            t_mult: usize = 1,
            /// The minimum learning rate.
            eta_min: f64 = 0.0,
        }
    }
}

/// The position between two restarts.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Wave {
    /// The epochs since the last restart.
    t_cur: f64,
    /// The epochs from the last restart to the next.
    t_i: f64,
}

impl CosineAnnealingWarmRestartsConfig {
    /// The schedule; it sets the learning rates of epoch 0.
    ///
    /// # Errors
    ///
    /// A `t_0` or `t_mult` of 0; a learning rate that is negative or not finite. Then the optimizer is unchanged.
    pub fn build(&self, optimizer: &mut dyn Optimizer) -> Result<CosineAnnealingWarmRestarts> {
        self.check()?;
        let (config, wave) = (self.clone(), self.first());
        let core = Core::new(NAME, Base::OfOptimizer, optimizer, &config.at(wave))?;
        Ok(CosineAnnealingWarmRestarts { config, wave, core })
    }

    fn check(&self) -> Result<()> {
        check_positive(NAME, "t_0", self.t_0)?;
        check_positive(NAME, "t_mult", self.t_mult)
    }

    fn first(&self) -> Wave {
        Wave {
            t_cur: 0.0,
            t_i: self.t_0 as f64,
        }
    }

    fn at(&self, wave: Wave) -> Cosine {
        let least = self.eta_min;
        Cosine { least, wave }
    }
}

struct Cosine {
    least: f64,
    wave: Wave,
}

impl Formula for Cosine {
    fn lr(&self, at: &ScheduleStep) -> Result<f64> {
        let (Wave { t_cur, t_i }, least) = (self.wave, self.least);
        Ok(least + (at.base_lr - least) * (1.0 + (PI * t_cur / t_i).cos()) / 2.0)
    }
}

impl CosineAnnealingWarmRestarts {
    /// Makes the schedule with PyTorch's defaults for the other options.
    ///
    /// # Errors
    ///
    /// Those of [`CosineAnnealingWarmRestartsConfig::build`].
    pub fn new(optimizer: &mut dyn Optimizer, t_0: usize) -> Result<Self> {
        CosineAnnealingWarmRestartsConfig::new(t_0).build(optimizer)
    }

    /// The arguments.
    pub fn config(&self) -> &CosineAnnealingWarmRestartsConfig {
        &self.config
    }

    /// The epoch, without its fraction.
    pub fn last_epoch(&self) -> usize {
        self.core.epoch()
    }

    /// Sets the learning rates for an epoch, or a fraction of one: PyTorch's `step(epoch)`, called with
    /// `epoch + batch / batches`.
    ///
    /// # Errors
    ///
    /// An epoch that is negative or not finite, and as [`step`](Schedule::step).
    pub fn step_to(&mut self, epoch: f64, optimizer: &mut dyn Optimizer) -> Result<()> {
        if !(epoch >= 0.0 && epoch.is_finite()) {
            let problem = "must be at least 0 and finite";
            return Err(Error::argument(NAME, "epoch", epoch, problem));
        }
        let first = self.config.first();
        let (t_0, t_mult) = (first.t_i, self.config.t_mult as f64);
        let wave = if epoch < t_0 {
            Wave {
                t_cur: epoch,
                ..first
            }
        } else if self.config.t_mult == 1 {
            let t_cur = epoch % t_0;
            Wave { t_cur, ..self.wave }
        } else {
            let restarts = ((epoch / t_0 * (t_mult - 1.0) + 1.0).ln() / t_mult.ln()).trunc();
            let longer = t_mult.powf(restarts);
            Wave {
                t_cur: epoch - t_0 * (longer - 1.0) / (t_mult - 1.0),
                t_i: t_0 * longer,
            }
        };
        // An epoch beyond the largest integer saturates.
        self.go(wave, epoch.floor() as usize, StepKind::Next, optimizer)
    }

    fn go(
        &mut self,
        wave: Wave,
        epoch: usize,
        kind: StepKind,
        optimizer: &mut dyn Optimizer,
    ) -> Result<()> {
        let formula = self.config.at(wave);
        self.core.go(epoch, kind, optimizer, &formula)?;
        self.wave = wave;
        Ok(())
    }
}

impl Schedule for CosineAnnealingWarmRestarts {
    fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        let Wave { t_cur, t_i } = self.wave;
        let next = t_cur + 1.0;
        let wave = if next >= t_i {
            Wave {
                t_cur: next % t_i,
                t_i: t_i * self.config.t_mult as f64,
            }
        } else {
            Wave { t_cur: next, t_i }
        };
        let epoch = self.core.epoch().saturating_add(1);
        self.go(wave, epoch, StepKind::Next, optimizer)
    }

    fn last_lrs(&self) -> &[f64] {
        self.core.last_lrs()
    }

    fn start(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.go(self.config.first(), 0, StepKind::First, optimizer)
    }

    fn restart(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        self.go(self.config.first(), 0, StepKind::Restart, optimizer)
    }
}

/// The arguments, the epoch, the position between two restarts, and the learning rates at the start and last set.
impl Stateful for CosineAnnealingWarmRestarts {
    fn state(&self) -> Result<Snapshot> {
        self.core
            .save(self.hyperparameters()?)?
            .with("wave", &self.wave)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.config)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let core = self.core.read(state)?;
        let config: CosineAnnealingWarmRestartsConfig = state.get("config")?;
        config.check()?;
        let wave = state.get("wave")?;
        *self = Self { config, wave, core };
        Ok(())
    }
}
