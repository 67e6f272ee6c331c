use module_core::{Error, Result, Snapshot, Stateful};
use serde::{Deserialize, Serialize};

use super::common::check_name;
use super::rates::{self, check_groups, check_lr};
use crate::OneOrEach;
use crate::config::config;
use crate::optim::Optimizer;

const NAME: &str = "ReduceLROnPlateau";

/// Multiplies the learning rates by a factor when a metric has not improved for some epochs.
///
/// A metric `m` is better than the best one `b` if, with the threshold `τ`:
///
/// ```text
/// m < b·(1 - τ)   Min, Rel          m < b - τ   Min, Abs
/// m > b·(1 + τ)   Max, Rel          m > b + τ   Max, Abs
/// ```
///
/// After more than `patience` epochs without improvement, `η ← max(η·factor, min_lr)`, unless that changes `η` by no more
/// than `eps`. Then the next `cooldown` epochs do not count. NaN is never better.
///
/// It does not implement [`Schedule`](super::Schedule), because its step takes the metric.
///
/// Source: `torch.optim.lr_scheduler.ReduceLROnPlateau`.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
/// let config = ReduceLROnPlateauConfig::new().factor(0.5).patience(1_usize);
/// let mut schedule = config.build(&mut optimizer)?;
/// let mut lrs = Vec::new();
/// for loss in [1.0, 1.0, 1.0, 0.5] {
///     schedule.step(loss, &mut optimizer)?;
///     lrs.push(optimizer.lr());
/// }
/// assert_eq!(lrs, [0.5, 0.5, 0.25, 0.25]);
/// # Ok::<(), Error>(())
/// ```
pub struct ReduceLROnPlateau {
    config: ReduceLROnPlateauConfig,
    min_lrs: Vec<f64>,
    counts: Counts,
    last_lrs: Vec<f64>,
}

/// Whether higher or lower metrics are better for [`ReduceLROnPlateau`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlateauMode {
    /// Lower is better, as for a loss.
    Min,
    /// Higher is better, as for an accuracy.
    Max,
}

/// The meaning of the threshold of [`ReduceLROnPlateau`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThresholdMode {
    /// Relative to the best metric.
    Rel,
    /// An absolute difference.
    Abs,
}

config! {
    /// The arguments of [`ReduceLROnPlateau`].
    ///
    /// It is an error to build a schedule with a factor of 1 or more, or a number of values that differs from the
    /// groups.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let mut optimizer = SGD::new(&Linear::new(2, 1)?, 0.5)?;
    /// // An accuracy, which should rise by more than 0.01.
    /// let config = ReduceLROnPlateauConfig::new()
    ///     .mode(PlateauMode::Max)
    ///     .threshold(0.01)
    ///     .threshold_mode(ThresholdMode::Abs)
    ///     .factor(0.5)
    ///     .patience(0)
    ///     .cooldown(1)
    ///     .min_lr(0.2)
    ///     .eps(0.0);
    /// let mut schedule: ReduceLROnPlateau = config.build(&mut optimizer)?;
    /// let mut lrs = Vec::new();
    /// for accuracy in [0.5, 0.505, 0.506, 0.507, 0.9] {
    ///     schedule.step(accuracy, &mut optimizer)?;
    ///     lrs.push(optimizer.lr());
    /// }
    /// // The epoch after a change does not count.
    /// assert_eq!(lrs, [0.5, 0.25, 0.25, 0.2, 0.2]);
    /// assert_eq!((schedule.best(), schedule.last_lrs()), (0.9, &[0.2][..]));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ReduceLROnPlateauConfig {
        optional {
            /// Whether higher or lower is better.
            mode: PlateauMode = PlateauMode::Min,
            /// The factor of the learning rates.
            factor: f64 = 0.1,
            /// The number of epochs without improvement that change nothing.
            patience: usize = 10,
            /// The minimum improvement.
            threshold: f64 = 1e-4,
            /// The meaning of the threshold.
            threshold_mode: ThresholdMode = ThresholdMode::Rel,
            /// The number of epochs after a change that do not count.
            cooldown: usize = 0,
            /// The minimum learning rate, or one for each group.
            min_lr: OneOrEach<f64> = 0.0,
            /// The smallest change that is made.
            eps: f64 = 1e-8,
        }
    }
}

/// The counters.
#[derive(Clone, Serialize, Deserialize)]
struct Counts {
    last_epoch: usize,
    /// The best metric as text, because JSON has no infinity.
    #[serde(with = "crate::optim::as_text")]
    best: f64,
    num_bad_epochs: usize,
    cooldown_counter: usize,
}

impl ReduceLROnPlateauConfig {
    /// The schedule.
    ///
    /// # Errors
    ///
    /// A factor of 1 or more, a number of minima that differs from the groups.
    pub fn build(&self, optimizer: &mut dyn Optimizer) -> Result<ReduceLROnPlateau> {
        let last_lrs = optimizer.group_lrs();
        let min_lrs = self.check(last_lrs.len())?;
        let counts = Counts {
            last_epoch: 0,
            best: match self.mode {
                PlateauMode::Min => f64::INFINITY,
                PlateauMode::Max => f64::NEG_INFINITY,
            },
            num_bad_epochs: 0,
            cooldown_counter: 0,
        };
        Ok(ReduceLROnPlateau {
            config: self.clone(),
            min_lrs,
            counts,
            last_lrs,
        })
    }

    /// The minimum learning rate of each group.
    fn check(&self, groups: usize) -> Result<Vec<f64>> {
        if self.factor.is_nan() || self.factor >= 1.0 {
            let problem = "must be below 1";
            return Err(Error::argument(NAME, "factor", self.factor, problem));
        }
        self.min_lr.get(NAME, "min_lr", groups)
    }

    fn is_better(&self, metric: f64, best: f64) -> bool {
        let threshold = self.threshold;
        match (self.mode, self.threshold_mode) {
            (PlateauMode::Min, ThresholdMode::Rel) => metric < best * (1.0 - threshold),
            (PlateauMode::Min, ThresholdMode::Abs) => metric < best - threshold,
            (PlateauMode::Max, ThresholdMode::Rel) => metric > best * (threshold + 1.0),
            (PlateauMode::Max, ThresholdMode::Abs) => metric > best + threshold,
        }
    }
}

impl ReduceLROnPlateau {
    /// Makes the schedule with PyTorch's defaults.
    ///
    /// # Errors
    ///
    /// Those of [`ReduceLROnPlateauConfig::build`].
    pub fn new(optimizer: &mut dyn Optimizer) -> Result<Self> {
        ReduceLROnPlateauConfig::new().build(optimizer)
    }

    /// Records the metric of an epoch, and lowers the learning rates if it is time.
    ///
    /// # Errors
    ///
    /// An optimizer whose number of groups differs from the one that it was built for; then nothing is changed.
    pub fn step(&mut self, metric: f64, optimizer: &mut dyn Optimizer) -> Result<()> {
        check_groups(NAME, self.min_lrs.len(), optimizer)?;
        let mut counts = self.counts.clone();
        counts.last_epoch = counts.last_epoch.saturating_add(1);
        if self.config.is_better(metric, counts.best) {
            counts.best = metric;
            counts.num_bad_epochs = 0;
        } else {
            counts.num_bad_epochs = counts.num_bad_epochs.saturating_add(1);
        }
        if counts.cooldown_counter > 0 {
            counts.cooldown_counter -= 1;
            counts.num_bad_epochs = 0;
        }
        if counts.num_bad_epochs > self.config.patience {
            self.reduce(optimizer)?;
            counts.cooldown_counter = self.config.cooldown;
            counts.num_bad_epochs = 0;
        }
        (self.counts, self.last_lrs) = (counts, optimizer.group_lrs());
        Ok(())
    }

    fn reduce(&self, optimizer: &mut dyn Optimizer) -> Result<()> {
        let groups = optimizer.group_lrs().into_iter().zip(&self.min_lrs);
        let lowered = groups.map(|(lr, &min)| {
            let next = (lr * self.config.factor).max(min);
            let is_due = lr - next > self.config.eps;
            check_lr(NAME, if is_due { next } else { lr }, lr)
        });
        let lrs = lowered.collect::<Result<Vec<_>>>()?;
        rates::set(optimizer, &lrs, &[])
    }

    /// The arguments.
    pub fn config(&self) -> &ReduceLROnPlateauConfig {
        &self.config
    }

    /// The best metric so far; infinite before the first.
    pub fn best(&self) -> f64 {
        self.counts.best
    }

    /// The learning rate of each group after the last step: PyTorch's `get_last_lr`.
    pub fn last_lrs(&self) -> &[f64] {
        &self.last_lrs
    }
}

/// The arguments, the best metric, the counters, and the last learning rates.
impl Stateful for ReduceLROnPlateau {
    fn state(&self) -> Result<Snapshot> {
        self.hyperparameters()?
            .with("schedule", &NAME)?
            .with("counts", &self.counts)?
            .with("last_lrs", &self.last_lrs)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.config)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        check_name(NAME, state)?;
        let config: ReduceLROnPlateauConfig = state.get("config")?;
        let last_lrs: Vec<f64> = state.get("last_lrs")?;
        let (own, saved) = (self.min_lrs.len(), last_lrs.len());
        if saved != own {
            let problem = format!("the state has {saved} group(s), and {NAME} was built for {own}");
            let value = format!("{last_lrs:?}");
            return Err(Error::argument("load_state", "last_lrs", value, problem));
        }
        let min_lrs = config.check(own)?;
        let counts = state.get("counts")?;
        *self = Self {
            config,
            min_lrs,
            counts,
            last_lrs,
        };
        Ok(())
    }
}
