use module_core::{Error, Result, StateDict, Tensor};

use super::MetricError;
use super::metric::metric;
use super::read::{check_same_shape, floats, shapes};
use super::totals::{Totals, numbers};

/// The fraction of the targets' variance that the predictions explain, the coefficient of determination:
///
/// ```text
/// R² = 1 - Σ (target - pred)² / Σ (target - mean(target))²
/// ```
///
/// If the targets do not vary, it is 1 for error-free predictions and 0 otherwise, as in scikit-learn. torchmetrics treats
/// every sum of squares below 10⁻⁴ as 0, so small numbers get other scores there: here, the unit of measurement does not
/// affect the score.
///
/// # Shapes
///
/// Predictions and targets of equal shape: `[N]`, or `[N, D]` with `D` outputs, whose scores are averaged. The value has no
/// dimensions.
///
/// Source: torchmetrics' `R2Score`, with scikit-learn's rule for targets that do not vary. Sums of squares follow Chan,
/// Golub and LeVeque, *Updating formulae and a pairwise algorithm for computing sample variances* (1979).
///
/// # Errors
///
/// Those of [`MetricError`]; fewer than two samples are [`TooFew`](MetricError::TooFew).
///
/// # Example
///
/// ```
/// use module_nn::metrics::{Metric, R2Score};
/// use module_nn::prelude::*;
///
/// let mut score = R2Score::default();
/// score.update(&Tensor::from([1.0_f64, 2.0, 4.0]), &Tensor::from([1.0_f64, 2.0, 3.0]))?;
/// assert_eq!(score.value()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct R2Score {
    config: (),
    totals: Variation,
}

/// The number of samples, and for each column the mean of the targets, their squared deviations from it, and the squared
/// errors.
#[derive(Clone, Debug, Default)]
pub(super) struct Variation {
    count: f64,
    mean: Vec<f64>,
    around_mean: Vec<f64>,
    errors: Vec<f64>,
}

impl Variation {
    /// Makes the metric for rows of `width` numbers.
    fn of(preds: &[f64], target: &[f64], width: usize) -> Self {
        let rows = (target.len() / width) as f64;
        let column = |column: usize| target.iter().skip(column).step_by(width);
        let means = (0..width).map(|number| column(number).sum::<f64>() / rows);
        let mean: Vec<f64> = means.collect();
        let (mut around_mean, mut errors) = (vec![0.0; width], vec![0.0; width]);
        for (place, (pred, target)) in preds.iter().zip(target).enumerate() {
            let column = place % width;
            around_mean[column] += (target - mean[column]).powi(2);
            errors[column] += (target - pred).powi(2);
        }
        Self {
            count: rows,
            mean,
            around_mean,
            errors,
        }
    }
}

impl Totals for Variation {
    fn tensors(&self) -> Result<StateDict> {
        let named = [
            ("count", Tensor::from([self.count])),
            ("mean", Tensor::from(self.mean.clone())),
            ("around_mean", Tensor::from(self.around_mean.clone())),
            ("errors", Tensor::from(self.errors.clone())),
        ];
        Ok(named.into_iter().collect())
    }

    fn read(&self, op: &'static str, tensors: &StateDict) -> Result<Self> {
        let count = numbers(op, "count", tensors)?;
        let [count] = count[..] else {
            let problem = "there must be one number";
            return Err(Error::argument(op, "count", count.len(), problem));
        };
        let read = Self {
            count,
            mean: numbers(op, "mean", tensors)?,
            around_mean: numbers(op, "around_mean", tensors)?,
            errors: numbers(op, "errors", tensors)?,
        };
        let width = read.mean.len();
        if [read.around_mean.len(), read.errors.len()] != [width; 2] {
            let problem = "all tensors of a state must have as many numbers";
            return Err(Error::argument(op, "mean", width, problem));
        }
        Ok(read)
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        if other.count == 0.0 {
            return Ok(());
        }
        if self.count == 0.0 {
            *self = other;
            return Ok(());
        }
        let (width, found) = (self.mean.len(), other.mean.len());
        if width != found {
            let problem = format!("{width} were seen before; make one metric for each");
            return Err(Error::argument("R2Score", "columns", found, problem));
        }
        let count = self.count + other.count;
        for column in 0..width {
            let apart = other.mean[column] - self.mean[column];
            self.mean[column] += apart * other.count / count;
            self.around_mean[column] +=
                other.around_mean[column] + apart * apart * self.count * other.count / count;
            self.errors[column] += other.errors[column];
        }
        self.count = count;
        Ok(())
    }

    fn reset(&mut self) {
        *self = Self::default();
    }
}

impl R2Score {
    fn add(&mut self, preds: &Tensor, target: &Tensor) -> Result<()> {
        const NAME: &str = "R2Score";
        check_same_shape(NAME, preds, target)?;
        let width = match *preds.shape().as_ref() {
            [_] => 1,
            [_, width] if width > 0 => width,
            _ => {
                let expected = "give [N] or [N, D] with D of at least 1";
                return Err(shapes(NAME, preds, target, expected).into());
            }
        };
        let preds = floats(NAME, "preds", preds)?;
        let target = floats(NAME, "target", target)?;
        self.totals.merge(Variation::of(&preds, &target, width))
    }

    fn result(&self) -> Result<Tensor> {
        let samples = self.totals.count;
        if samples < 2.0 {
            let samples = samples as usize;
            return Err(match samples {
                0 => MetricError::Empty { metric: "R2Score" },
                _ => MetricError::TooFew {
                    metric: "R2Score",
                    samples,
                    least: 2,
                },
            }
            .into());
        }
        let columns = self.totals.errors.iter().zip(&self.totals.around_mean);
        let scores = columns.map(|(&errors, &around_mean)| {
            if around_mean != 0.0 {
                1.0 - errors / around_mean
            } else if errors == 0.0 {
                1.0
            } else {
                0.0
            }
        });
        let sum: f64 = scores.sum();
        Ok((sum / self.totals.mean.len() as f64).into())
    }
}

metric!(R2Score, (), Variation);
