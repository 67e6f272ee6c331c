//! Means over the elements of predicted numbers.

use module_core::{Result, Tensor};

use super::MetricError;
use super::metric::metric;
use super::read::{check_same_shape, floats};
use super::totals::Sums;
use crate::config::{Build, config};

/// The mean squared error, `1/n Σ (pred - target)²`, or its root.
///
/// Predictions and targets have the same shape; the value has no dimensions.
///
/// Source: torchmetrics' `MeanSquaredError`.
///
/// # Errors
///
/// Those of [`MetricError`].
///
/// # Example
///
/// ```
/// use module_nn::metrics::{MeanSquaredError, MeanSquaredErrorConfig, Metric};
/// use module_nn::prelude::*;
///
/// let mut root = MeanSquaredErrorConfig::new().squared(false).build()?;
/// root.update(&Tensor::from([1.0_f32, 5.0]), &Tensor::from([1.0_f32, 1.0]))?;
/// assert_eq!(root.value()?, 8.0_f64.sqrt());
///
/// let mut mean: MeanSquaredError = MeanSquaredError::default(); // Not the root.
/// mean.update(&Tensor::from([1.0_f32, 5.0]), &Tensor::from([1.0_f32, 1.0]))?;
/// assert_eq!(mean.value()?, 8.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MeanSquaredError {
    config: MeanSquaredErrorConfig,
    totals: Sums<2>,
}

config! {
    /// The arguments of [`MeanSquaredError`].
    pub struct MeanSquaredErrorConfig => MeanSquaredError {
        optional {
            /// Whether to return the mean itself, not its root.
            squared: bool = true,
        }
    }
}

impl Build for MeanSquaredErrorConfig {
    type Output = MeanSquaredError;

    fn build(&self) -> Result<MeanSquaredError> {
        Ok(self.metric())
    }
}

impl MeanSquaredErrorConfig {
    fn metric(&self) -> MeanSquaredError {
        MeanSquaredError {
            config: self.clone(),
            totals: Sums::new(["sum", "count"], 1),
        }
    }
}

impl Default for MeanSquaredError {
    fn default() -> Self {
        MeanSquaredErrorConfig::new().metric()
    }
}

/// The mean absolute error, `1/n Σ |pred - target|`.
///
/// Predictions and targets have the same shape; the value has no dimensions.
///
/// Source: torchmetrics' `MeanAbsoluteError`.
///
/// # Errors
///
/// Those of [`MetricError`].
///
/// # Example
///
/// ```
/// use module_nn::metrics::{MeanAbsoluteError, Metric};
/// use module_nn::prelude::*;
///
/// let mut error = MeanAbsoluteError::default();
/// error.update(&Tensor::from([1.0_f32, 5.0]), &Tensor::from([1.0_f32, 1.0]))?;
/// assert_eq!(error.value()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MeanAbsoluteError {
    config: (),
    totals: Sums<2>,
}

impl Default for MeanAbsoluteError {
    fn default() -> Self {
        Self {
            config: (),
            totals: Sums::new(["sum", "count"], 1),
        }
    }
}

fn add(
    metric: &'static str,
    totals: &mut Sums<2>,
    preds: &Tensor,
    target: &Tensor,
    of: impl Fn(f64) -> f64,
) -> Result<()> {
    check_same_shape(metric, preds, target)?;
    let preds = floats(metric, "preds", preds)?;
    let target = floats(metric, "target", target)?;
    let [sum, count] = &mut totals.of;
    count[0] += preds.len() as f64;
    let errors = preds.into_iter().zip(target).map(|(a, b)| of(a - b));
    sum[0] += errors.sum::<f64>();
    Ok(())
}

fn mean(metric: &'static str, totals: &Sums<2>) -> Result<f64> {
    let [sum, count] = &totals.of;
    match count[0] {
        0.0 => Err(MetricError::Empty { metric }.into()),
        count => Ok(sum[0] / count),
    }
}

impl MeanSquaredError {
    fn add(&mut self, preds: &Tensor, target: &Tensor) -> Result<()> {
        let squared = |error: f64| error * error;
        add("MeanSquaredError", &mut self.totals, preds, target, squared)
    }

    fn result(&self) -> Result<Tensor> {
        let mean = mean("MeanSquaredError", &self.totals)?;
        Ok(match self.config.squared {
            true => mean.into(),
            false => mean.sqrt().into(),
        })
    }
}

impl MeanAbsoluteError {
    fn add(&mut self, preds: &Tensor, target: &Tensor) -> Result<()> {
        add(
            "MeanAbsoluteError",
            &mut self.totals,
            preds,
            target,
            f64::abs,
        )
    }

    fn result(&self) -> Result<Tensor> {
        Ok(mean("MeanAbsoluteError", &self.totals)?.into())
    }
}

metric!(MeanSquaredError, MeanSquaredErrorConfig, Sums<2>);
metric!(MeanAbsoluteError, (), Sums<2>);
