use module_core::{Result, Tensor};
use serde::{Deserialize, Serialize};

use super::classes::Classes;
use super::metric::metric;
use super::scores::divide;
use super::totals::Sums;
use super::{MetricError, Task};
use crate::config::{Build, config};

/// The number of samples of each class (rows) that were predicted as each class (columns).
///
/// Shapes and errors are those of [`Accuracy`](super::Accuracy); the value is `[C, C]`, counts as I64, or fractions as F64
/// with `normalize`. [`plot::confusion_matrix`](crate::plot::confusion_matrix) draws it.
///
/// Source: torchmetrics' `ConfusionMatrix`.
///
/// # Example
///
/// ```
/// use module_nn::metrics::{ConfusionMatrix, Metric};
/// use module_nn::prelude::*;
///
/// let mut matrix = ConfusionMatrix::new(2)?;
/// matrix.update(&Tensor::from([0_i64, 0, 1]), &Tensor::from([0_i64, 1, 1]))?;
/// assert_eq!(matrix.compute()?.to_vec::<i64>()?, [1, 0, 1, 1]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ConfusionMatrix {
    config: ConfusionMatrixConfig,
    totals: Sums<1>,
}

config! {
    /// The arguments of [`ConfusionMatrix`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::metrics::{ConfusionMatrixConfig, Metric, Normalize, Task};
    /// use module_nn::prelude::*;
    ///
    /// let config = ConfusionMatrixConfig::new(Task::Binary).from_logits(true).threshold(0.5);
    /// let mut matrix = config.normalize(Normalize::True).ignore_index(-1).build()?;
    /// let (logits, target) = (Tensor::from([-1.0_f32, 1.0, 2.0, 2.0]), Tensor::from([0_i64, 0, 1, -1]));
    /// matrix.update(&logits, &target)?;
    /// assert_eq!(matrix.compute()?.to_vec::<f64>()?, [0.5, 0.5, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ConfusionMatrixConfig => ConfusionMatrix {
        required {
            /// The task; a number means that many classes.
            task: Task,
        }
        optional {
            /// The denominator of the fractions; counts without it.
            normalize: Option<Normalize> = None,
            /// The probability above which a binary task predicts 1.
            threshold: f64 = 0.5,
            /// Whether predictions of a binary task are logits.
            from_logits: bool = false,
            /// An ignored target.
            ignore_index: Option<i64> = None,
        }
    }
}

/// The totals of which the entries of a [`ConfusionMatrix`] are fractions; 0/0 is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// The samples of the true class: each row sums to 1.
    True,
    /// The samples of the predicted class: each column sums to 1.
    Pred,
    /// All samples.
    All,
}

impl ConfusionMatrixConfig {
    fn classes(&self) -> Classes {
        Classes {
            metric: "ConfusionMatrix",
            task: self.task,
            threshold: self.threshold,
            from_logits: self.from_logits,
            top_k: 1,
            ignore_index: self.ignore_index,
        }
    }
}

impl Build for ConfusionMatrixConfig {
    type Output = ConfusionMatrix;

    /// # Errors
    ///
    /// Fewer than two classes, more of them than memory holds a matrix of, a threshold outside `[0, 1]`.
    fn build(&self) -> Result<ConfusionMatrix> {
        self.classes().check()?;
        let classes = self.task.num_classes();
        Ok(ConfusionMatrix {
            totals: Sums::of_classes(
                "ConfusionMatrix",
                self.task,
                ["counts"],
                classes.checked_mul(classes),
            )?,
            config: self.clone(),
        })
    }
}

impl ConfusionMatrix {
    fn add(&mut self, preds: &Tensor, target: &Tensor) -> Result<()> {
        let classes = self.config.task.num_classes();
        let [counts] = &mut self.totals.of;
        for (predicted, truth) in self.config.classes().pairs(preds, target)? {
            counts[truth * classes + predicted] += 1.0;
        }
        Ok(())
    }

    fn result(&self) -> Result<Tensor> {
        let classes = self.config.task.num_classes();
        let [counts] = &self.totals.of;
        let all: f64 = counts.iter().sum();
        if all == 0.0 {
            let metric = "ConfusionMatrix";
            return Err(MetricError::Empty { metric }.into());
        }
        let shape = [classes, classes];
        let Some(normalize) = self.config.normalize else {
            let counts = counts.iter().map(|&count| count as i64).collect();
            return Tensor::from_vec::<i64>(counts, shape);
        };
        let (mut rows, mut columns) = (vec![0.0; classes], vec![0.0; classes]);
        for (place, count) in counts.iter().enumerate() {
            rows[place / classes] += count;
            columns[place % classes] += count;
        }
        let shares = counts.iter().enumerate().map(|(place, &count)| {
            let of = match normalize {
                Normalize::True => rows[place / classes],
                Normalize::Pred => columns[place % classes],
                Normalize::All => all,
            };
            divide(count, of, 0.0)
        });
        Tensor::from_vec::<f64>(shares.collect(), shape)
    }
}

metric!(ConfusionMatrix, ConfusionMatrixConfig, Sums<1>);
