use std::collections::VecDeque;

use module_core::{Error, Result, StateDict, Tensor};

use super::MetricError;
use super::mean_metric::weighted;
use super::metric::stateful;
use super::totals::{Totals, numbers};
use crate::config::{Build, check_positive, config};

/// The mean of the values of the last `window` updates, for example the loss on a progress bar.
///
/// The windows of several workers have no common order, so they cannot be merged.
///
/// Source: torchmetrics' `RunningMean`.
///
/// # Example
///
/// ```
/// use module_nn::metrics::RunningMean;
/// use module_nn::prelude::*;
///
/// let mut loss = RunningMean::new(2)?;
/// for value in [9.0, 3.0, 1.0] {
///     loss.update(value)?;
/// }
/// assert_eq!(loss.compute()?, 2.0);
/// loss.reset();
/// loss.update_weighted(5.0, 8)?;
/// assert_eq!(loss.compute()?, 5.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RunningMean {
    config: RunningMeanConfig,
    totals: Window,
}

config! {
    /// The arguments of [`RunningMean`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::metrics::RunningMeanConfig;
    ///
    /// let mut loss = RunningMeanConfig::new(1).build()?;
    /// loss.update(9.0)?;
    /// loss.update(3.0)?;
    /// assert_eq!(loss.compute()?, 3.0);
    /// # Ok::<(), module_nn::Error>(())
    /// ```
    pub struct RunningMeanConfig => RunningMean {
        required {
            /// The number of updates in the window.
            window: usize,
        }
    }
}

impl Build for RunningMeanConfig {
    type Output = RunningMean;

    /// # Errors
    ///
    /// A `window` of 0.
    fn build(&self) -> Result<RunningMean> {
        check_positive("RunningMean", "window", self.window)?;
        let config = self.clone();
        let totals = Window {
            most: self.window,
            updates: VecDeque::new(),
        };
        Ok(RunningMean { config, totals })
    }
}

/// The sum and the weight of each update in the window.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The maximum number of updates.
    most: usize,
    updates: VecDeque<(f64, f64)>,
}

impl Totals for Window {
    fn tensors(&self) -> Result<StateDict> {
        let (sums, weights): (Vec<f64>, Vec<f64>) = self.updates.iter().copied().unzip();
        let named = [("sum", sums), ("weight", weights)];
        Ok(named
            .map(|(name, of)| (name, of.into()))
            .into_iter()
            .collect())
    }

    fn read(&self, op: &'static str, tensors: &StateDict) -> Result<Self> {
        let (sums, weights) = (
            numbers(op, "sum", tensors)?,
            numbers(op, "weight", tensors)?,
        );
        if sums.len() != weights.len() {
            let problem = format!("there must be as many as of `weight`, {}", weights.len());
            return Err(Error::argument(op, "sum", sums.len(), problem));
        }
        if sums.len() > self.most {
            let problem = format!(
                "there must be at most as many as the window has, {}",
                self.most
            );
            return Err(Error::argument(op, "sum", sums.len(), problem));
        }
        Ok(Self {
            updates: sums.into_iter().zip(weights).collect(),
            ..*self
        })
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        self.updates.extend(other.updates);
        Ok(())
    }

    fn reset(&mut self) {
        self.updates.clear();
    }
}

impl RunningMean {
    /// Adds the elements of a tensor, or a number, with weight 1, and drops the update that leaves the window.
    ///
    /// # Errors
    ///
    /// Complex numbers.
    pub fn update(&mut self, value: impl Into<Tensor>) -> Result<()> {
        self.add(&value.into(), &Tensor::from(1.0_f64))
    }

    /// [`update`](Self::update) with weights, or one weight for all.
    ///
    /// # Errors
    ///
    /// Weights that are negative or not finite, or that do not expand to the shape of the values; then nothing is changed.
    pub fn update_weighted(
        &mut self,
        value: impl Into<Tensor>,
        weight: impl Into<Tensor>,
    ) -> Result<()> {
        self.add(&value.into(), &weight.into())
    }

    fn add(&mut self, value: &Tensor, weight: &Tensor) -> Result<()> {
        let added = weighted("RunningMean", value, weight)?;
        let updates = &mut self.totals.updates;
        while updates.len() >= self.config.window {
            updates.pop_front();
        }
        updates.push_back(added);
        Ok(())
    }

    /// The mean over the window, which may not be full yet.
    ///
    /// # Errors
    ///
    /// No data, or only weights of 0 ([`MetricError::Empty`]).
    pub fn compute(&self) -> Result<f64> {
        let updates = &self.totals.updates;
        let weight: f64 = updates.iter().map(|update| update.1).sum();
        if weight == 0.0 {
            let metric = "RunningMean";
            return Err(MetricError::Empty { metric }.into());
        }
        Ok(updates.iter().map(|update| update.0).sum::<f64>() / weight)
    }

    /// Resets the metric.
    pub fn reset(&mut self) {
        self.totals.reset();
    }
}

stateful!(RunningMean, RunningMeanConfig, Window);
