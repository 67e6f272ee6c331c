use module_core::{Error, Result, Snapshot, Stateful};
use serde::{Deserialize, Serialize};

use super::PlateauMode;
use super::best::Best;
use super::range::at_least_0;
use crate::config::config;

const NAME: &str = "EarlyStopping";

/// Detects that a metric has not improved for some epochs, so that training can stop.
///
/// A metric `m` is better than the best one `b` if `m < b - min_delta` or, for [`PlateauMode::Max`], `m > b + min_delta`.
/// NaN is never better. Training should stop when `patience` epochs in a row were not better.
///
/// Source: Prechelt, *Early Stopping - But When?* (1998); Lightning and Keras use the same name.
///
/// # Example
///
/// ```
/// use module_nn::optim::EarlyStopping;
///
/// let mut stopping = EarlyStopping::new(2)?;
/// let losses = [0.9, 0.5, 0.6, 0.4, 0.5, f64::NAN, 0.1];
/// let epochs = losses.into_iter().take_while(|loss| !stopping.step(*loss)).count();
/// assert_eq!((epochs, stopping.best()), (5, Some(0.4)));
/// assert_eq!((stopping.is_stopped(), stopping.num_bad_epochs(), stopping.best_epoch()), (true, 2, Some(3)));
/// # Ok::<(), module_nn::Error>(())
/// ```
pub struct EarlyStopping {
    config: EarlyStoppingConfig,
    counts: Counts,
}

config! {
    /// The arguments of [`EarlyStopping`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::optim::{EarlyStoppingConfig, PlateauMode};
    ///
    /// let config = EarlyStoppingConfig::new(1_usize).mode(PlateauMode::Max).min_delta(0.01);
    /// let mut stopping = config.build()?;
    /// assert!(!stopping.step(0.5));
    /// assert!(stopping.step(0.505));
    /// # Ok::<(), module_nn::Error>(())
    /// ```
    pub struct EarlyStoppingConfig {
        required {
            /// The number of epochs in a row without improvement that end the training; 0 is treated as 1.
            patience: usize,
        }
        optional {
            /// Whether higher or lower is better.
            mode: PlateauMode = PlateauMode::Min,
            /// The minimum improvement.
            min_delta: f64 = 0.0,
        }
    }
}

/// The counters.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counts {
    best: Best,
    last_epoch: usize,
    best_epoch: usize,
    num_bad_epochs: usize,
}

impl EarlyStoppingConfig {
    /// A count that has seen no metric.
    ///
    /// # Errors
    ///
    /// A `min_delta` that is negative or NaN.
    pub fn build(&self) -> Result<EarlyStopping> {
        at_least_0(NAME, "min_delta", self.min_delta)?;
        let counts = Counts {
            best: Best::new(self.mode, self.min_delta),
            last_epoch: 0,
            best_epoch: 0,
            num_bad_epochs: 0,
        };
        let config = self.clone();
        Ok(EarlyStopping { config, counts })
    }
}

impl EarlyStopping {
    /// Makes one for a loss, counting any improvement.
    ///
    /// # Errors
    ///
    /// None; see [`EarlyStoppingConfig::build`].
    pub fn new(patience: usize) -> Result<Self> {
        EarlyStoppingConfig::new(patience).build()
    }

    /// Records the metric of an epoch, and returns whether training should stop.
    pub fn step(&mut self, metric: f64) -> bool {
        let counts = &mut self.counts;
        if counts.best.is_better(metric) {
            counts.best.set(metric);
            counts.best_epoch = counts.last_epoch;
            counts.num_bad_epochs = 0;
        } else {
            counts.num_bad_epochs = counts.num_bad_epochs.saturating_add(1);
        }
        counts.last_epoch = counts.last_epoch.saturating_add(1);
        self.is_stopped()
    }

    /// Whether training should stop.
    pub fn is_stopped(&self) -> bool {
        self.counts.num_bad_epochs >= self.config.patience.max(1)
    }

    /// The best metric so far.
    pub fn best(&self) -> Option<f64> {
        self.counts.best.get()
    }

    /// The epoch of the best metric, counted from 0.
    pub fn best_epoch(&self) -> Option<usize> {
        self.best().map(|_| self.counts.best_epoch)
    }

    /// The number of epochs in a row without improvement.
    pub fn num_bad_epochs(&self) -> usize {
        self.counts.num_bad_epochs
    }

    /// The arguments.
    pub fn config(&self) -> &EarlyStoppingConfig {
        &self.config
    }
}

/// The arguments, the best metric and the counters.
impl Stateful for EarlyStopping {
    fn state(&self) -> Result<Snapshot> {
        self.hyperparameters()?.with("early_stopping", &self.counts)
    }

    fn hyperparameters(&self) -> Result<Snapshot> {
        Snapshot::default().with("config", &self.config)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        let counts: Counts = state.get("early_stopping").map_err(|error| {
            let problem = format!("it is the state of something other than {NAME}: {error}");
            Error::argument("load_state", "state", NAME, problem)
        })?;
        let config: EarlyStoppingConfig = state.get("config")?;
        *self = EarlyStopping {
            counts,
            ..config.build()?
        };
        Ok(())
    }
}
