use module_core::{Error, Result, Snapshot, Tensor};

use super::MetricError;
use super::metric::{Accumulator, stateful};
use super::read::floats;
use super::totals::{Sums, Totals};

/// The weighted mean of values, such as batch losses weighted by batch size.
///
/// A NaN value makes the mean NaN.
///
/// Source: torchmetrics' `MeanMetric`.
///
/// # Example
///
/// ```
/// use module_nn::metrics::MeanMetric;
/// use module_nn::prelude::*;
///
/// let mut loss = MeanMetric::default();
/// loss.update_weighted(0.5, 32)?;
/// loss.update_weighted(Tensor::from(2.0_f32), 16)?;
/// assert_eq!(loss.compute()?, 1.0);
/// // The next epoch; every element counts.
/// loss.reset();
/// loss.update(Tensor::from([1.0_f32, 3.0]))?;
/// assert_eq!(loss.compute()?, 2.0);
/// // What two workers have seen.
/// let (mut first, mut second) = (MeanMetric::default(), MeanMetric::default());
/// first.update(1.0)?;
/// second.update(Tensor::from([4.0_f32, 4.0]))?;
/// first.merge(&second);
/// first.merge_state(&second.state()?)?;
/// assert_eq!(first.compute()?, 3.4);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MeanMetric {
    config: (),
    totals: Sums<2>,
}

impl Default for MeanMetric {
    fn default() -> Self {
        Self {
            config: (),
            totals: Sums::new(["sum", "weight"], 1),
        }
    }
}

/// The sum of the elements of `value`, each `weight` times, and the sum of the weights.
pub(super) fn weighted(
    metric: &'static str,
    value: &Tensor,
    weight: &Tensor,
) -> Result<(f64, f64)> {
    let weight = weight.detach().expand(value.shape().clone())?;
    let values = floats(metric, "value", value)?;
    let weights = floats(metric, "weight", &weight)?;
    let right = |weight: &f64| weight.is_finite() && *weight >= 0.0;
    if let Some(wrong) = weights.iter().find(|weight| !right(weight)) {
        let problem = "must be at least 0, and finite";
        return Err(Error::argument(metric, "weight", wrong, problem));
    }
    let products = values.iter().zip(&weights).filter(|(_, w)| **w > 0.0);
    let sum: f64 = products.map(|(value, weight)| value * weight).sum();
    Ok((sum, weights.iter().sum()))
}

impl MeanMetric {
    /// Adds the elements of a tensor, or a number, with weight 1.
    ///
    /// # Errors
    ///
    /// Complex numbers.
    pub fn update(&mut self, value: impl Into<Tensor>) -> Result<()> {
        self.add(&value.into(), &Tensor::from(1.0_f64))
    }

    /// Adds the elements of a tensor, or a number, with weights, or one weight for all. A value with weight 0 is ignored,
    /// whatever it is.
    ///
    /// # Errors
    ///
    /// Weights that are negative or not finite, or that do not expand to the shape of the values; then nothing is added.
    pub fn update_weighted(
        &mut self,
        value: impl Into<Tensor>,
        weight: impl Into<Tensor>,
    ) -> Result<()> {
        self.add(&value.into(), &weight.into())
    }

    fn add(&mut self, value: &Tensor, weight: &Tensor) -> Result<()> {
        let added = weighted("MeanMetric", value, weight)?;
        let [sum, total] = &mut self.totals.of;
        sum[0] += added.0;
        total[0] += added.1;
        Ok(())
    }

    /// The mean.
    ///
    /// # Errors
    ///
    /// No data, or only weights of 0 ([`MetricError::Empty`]).
    pub fn compute(&self) -> Result<f64> {
        let [sum, weight] = &self.totals.of;
        if weight[0] == 0.0 {
            let metric = "MeanMetric";
            return Err(MetricError::Empty { metric }.into());
        }
        Ok(sum[0] / weight[0])
    }

    /// Resets the metric.
    pub fn reset(&mut self) {
        self.totals.reset();
    }

    /// Adds the data of another one.
    pub fn merge(&mut self, other: &Self) {
        for (sums, more) in self.totals.of.iter_mut().zip(&other.totals.of) {
            sums[0] += more[0];
        }
    }

    /// Adds the data of another one from its [`state`](module_core::Stateful::state), for example from another worker or
    /// rank.
    ///
    /// # Errors
    ///
    /// The state of something else.
    pub fn merge_state(&mut self, state: &Snapshot) -> Result<()> {
        let other = self.read("merge_state", state)?;
        self.totals.merge(other)
    }
}

stateful!(MeanMetric, (), Sums<2>);
