use module_core::{Result, Tensor};

use super::classes::Classes;
use super::metric::metric;
use super::scores::{Scores, divide};
use super::{Average, MetricError, Task};
use crate::config::{Build, config};

/// The fraction of samples whose class is predicted; with `top_k`, whose class is among the `k` best.
///
/// ```text
/// micro: right / all        of a class: right of it / all of it
/// ```
///
/// # Shapes
///
/// For a binary task, predictions and targets of equal shape; otherwise targets `[N, …]`, and predictions `[N, C, …]` of
/// scores (logits or probabilities, of which the highest counts) or `[N, …]` of classes. Targets may have any integer
/// dtype. The value has no dimensions, or `[C]` with [`Average::None`].
///
/// Source: torchmetrics' `Accuracy`.
///
/// # Errors
///
/// Those of [`MetricError`].
///
/// # Example
///
/// ```
/// use module_nn::metrics::{AccuracyConfig, Metric};
/// use module_nn::prelude::*;
///
/// let mut accuracy = AccuracyConfig::new(3).top_k(2).ignore_index(-100).build()?;
/// let logits = Tensor::from([[3.0_f32, 2.0, 1.0], [3.0, 2.0, 1.0], [0.0, 0.0, 1.0]]);
/// accuracy.update(&logits, &Tensor::from([1_i64, 2, -100]))?;
/// assert_eq!(accuracy.value()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Accuracy {
    config: AccuracyConfig,
    totals: Scores,
}

config! {
    /// The arguments of [`Accuracy`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::metrics::{AccuracyConfig, Average, Metric, Task};
    /// use module_nn::prelude::*;
    ///
    /// // Logits of a binary task, of which those above ln(0.8/0.2) count as 1.
    /// let config = AccuracyConfig::new(Task::Binary).from_logits(true).threshold(0.8);
    /// let mut accuracy = config.build()?;
    /// accuracy.update(&Tensor::from([-3.0_f32, 1.0, 2.0]), &Tensor::from([0_i64, 1, 1]))?;
    /// assert_eq!(accuracy.value()?, 2.0 / 3.0);
    /// // One for each class.
    /// let mut accuracy = AccuracyConfig::new(2).average(Average::None).build()?;
    /// accuracy.update(&Tensor::from([0_i64, 0, 1]), &Tensor::from([0_i64, 1, 1]))?;
    /// assert_eq!(accuracy.compute()?.to_vec::<f64>()?, [1.0, 0.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AccuracyConfig => Accuracy {
        required {
            /// The task; a number means that many classes.
            task: Task,
        }
        optional {
            /// How the accuracies of the classes are combined.
            average: Average = Average::Micro,
            /// The number of best scores among which the class must be. Of equal scores, the lower class ranks first.
            top_k: usize = 1,
            /// The probability above which a binary task predicts 1.
            threshold: f64 = 0.5,
            /// Whether predictions of a binary task are logits.
            from_logits: bool = false,
            /// An ignored target.
            ignore_index: Option<i64> = None,
        }
    }
}

impl AccuracyConfig {
    fn classes(&self) -> Classes {
        Classes {
            metric: "Accuracy",
            task: self.task,
            threshold: self.threshold,
            from_logits: self.from_logits,
            top_k: self.top_k,
            ignore_index: self.ignore_index,
        }
    }
}

impl Build for AccuracyConfig {
    type Output = Accuracy;

    /// # Errors
    ///
    /// Fewer than two classes, a `top_k` that is 0 or above their number, a threshold outside `[0, 1]`.
    fn build(&self) -> Result<Accuracy> {
        self.classes().check()?;
        Ok(Accuracy {
            totals: Scores::of_task("Accuracy", self.task)?,
            config: self.clone(),
        })
    }
}

impl Accuracy {
    fn add(&mut self, preds: &Tensor, target: &Tensor) -> Result<()> {
        let pairs = self.config.classes().pairs(preds, target)?;
        self.totals.add(&pairs);
        Ok(())
    }

    fn result(&self) -> Result<Tensor> {
        let AccuracyConfig {
            task,
            average,
            top_k,
            ..
        } = self.config;
        if task == Task::Binary {
            let whole = self.totals.whole();
            return match whole.support() {
                0.0 => Err(MetricError::Empty { metric: "Accuracy" }.into()),
                all => Ok((whole.tp / all).into()),
            };
        }
        // With `top_k` a class that is only predicted does not count, as in torchmetrics.
        let predicted = f64::from(u8::from(top_k == 1));
        self.totals.averaged(
            "Accuracy",
            task,
            average,
            |class| class.support() + predicted * class.fp > 0.0,
            |class| divide(class.tp, class.support(), 0.0),
        )
    }
}

metric!(Accuracy, AccuracyConfig, Scores);
