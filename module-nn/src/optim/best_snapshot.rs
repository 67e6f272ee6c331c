#[cfg(feature = "fs")]
use std::path::PathBuf;

use module_core::{Error, LoadReport, Module, ModuleExt, Result, Snapshot, StateDict, Stateful};
use serde::{Deserialize, Serialize};

use super::PlateauMode;
use super::best::Best;

const NAME: &str = "BestSnapshot";

/// The state of a model at its best metric so far.
///
/// Metrics are compared as in [`EarlyStopping`](super::EarlyStopping) without a `min_delta`: NaN is never better. The first
/// metric that is not NaN is the best, even if it is infinite. The values are a snapshot, which later training does not
/// change.
///
/// # Example
///
/// ```
/// use module_nn::optim::{BestSnapshot, PlateauMode};
/// use module_nn::prelude::*;
///
/// let model = [Parameter::new(Tensor::from(0.0_f32))?];
/// let mut best = BestSnapshot::new(PlateauMode::Max);
/// for (value, accuracy) in [(1.0_f32, 0.7), (2.0, 0.9), (3.0, 0.8)] {
///     model[0].set(Tensor::from(value))?;
///     best.update(accuracy, &model)?;
/// }
/// best.restore(&model)?;
/// assert_eq!(model[0].detach().item::<f32>()?, 2.0);
/// assert_eq!((best.best(), best.best_epoch()), (Some(0.9), Some(1)));
/// assert_eq!(best.state_dict().map(|state| state.len()), Some(1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BestSnapshot {
    counts: Counts,
    state: StateDict,
    #[cfg(feature = "fs")]
    path: Option<PathBuf>,
}

/// The counters.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counts {
    best: Best,
    last_epoch: usize,
    best_epoch: usize,
}

impl BestSnapshot {
    /// Makes a snapshot without a state.
    pub fn new(mode: PlateauMode) -> Self {
        let best = Best::new(mode, 0.0);
        let counts = Counts {
            best,
            last_epoch: 0,
            best_epoch: 0,
        };
        Self {
            counts,
            state: StateDict::new(),
            #[cfg(feature = "fs")]
            path: None,
        }
    }

    /// Also writes each better state to a safetensors file, completely or not at all.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::optim::{BestSnapshot, PlateauMode};
    /// use module_nn::prelude::*;
    ///
    /// let path = std::env::temp_dir().join(format!("doc-best-{}.safetensors", std::process::id()));
    /// let model = Linear::new(2, 1)?;
    /// let mut best = BestSnapshot::new(PlateauMode::Min).save_to(&path);
    /// best.update(0.3, &model)?;
    /// Linear::new(2, 1)?.load(&path)?;
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "fs")]
    #[must_use]
    pub fn save_to(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Records the metric of an epoch, and keeps the state of the model if it is better; returns whether it is.
    ///
    /// # Errors
    ///
    /// Those of [`state_dict`](ModuleExt::state_dict) and of writing the file; then nothing is recorded and the previous
    /// state is kept.
    pub fn update(&mut self, metric: f64, model: &dyn Module) -> Result<bool> {
        let is_first = self.best().is_none() && !metric.is_nan();
        let is_better = is_first || self.counts.best.is_better(metric);
        if is_better {
            let state = model.state_dict()?;
            #[cfg(feature = "fs")]
            if let Some(path) = &self.path {
                state.save(path)?;
            }
            self.state = state;
            self.counts.best.set(metric);
            self.counts.best_epoch = self.counts.last_epoch;
        }
        self.counts.last_epoch = self.counts.last_epoch.saturating_add(1);
        Ok(is_better)
    }

    /// Restores the best state to the model, or to another of its kind.
    ///
    /// # Errors
    ///
    /// No state yet; those of [`load_state_dict`](ModuleExt::load_state_dict), after which the model is unchanged.
    pub fn restore(&self, model: &dyn Module) -> Result<LoadReport> {
        match self.state_dict() {
            Some(state) => model.load_state_dict(state),
            None => {
                let problem =
                    "there is no state yet; call `update` with a metric that is a number first";
                let updates = format!("{} updates", self.counts.last_epoch);
                Err(Error::argument("restore", NAME, updates, problem))
            }
        }
    }

    /// The best state, if there is one.
    pub fn state_dict(&self) -> Option<&StateDict> {
        self.best().map(|_| &self.state)
    }

    /// The best metric so far.
    pub fn best(&self) -> Option<f64> {
        self.counts.best.get()
    }

    /// The epoch of the best metric, counted from 0.
    pub fn best_epoch(&self) -> Option<usize> {
        self.best().map(|_| self.counts.best_epoch)
    }
}

/// The best state, its metric and its epoch; the path of the file is not included.
impl Stateful for BestSnapshot {
    fn state(&self) -> Result<Snapshot> {
        Snapshot::new(self.state.clone()).with("best_snapshot", &self.counts)
    }

    fn load_state(&mut self, state: &Snapshot) -> Result<()> {
        self.counts = state.get("best_snapshot").map_err(|error| {
            let problem = format!("it is the state of something other than {NAME}: {error}");
            Error::argument("load_state", "state", NAME, problem)
        })?;
        self.state = state.tensors().clone();
        Ok(())
    }
}
