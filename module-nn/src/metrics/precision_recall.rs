use module_core::{Result, Tensor};

use super::classes::Classes;
use super::metric::metric;
use super::scores::{Score, Scores, divide};
use super::{Average, Task};
use crate::config::{Build, check_between, config};

/// Metrics that differ only in the score of a class.
macro_rules! of_scores {
    (
        $(#[$doc:meta])*
        $metric:ident $config:ident $score:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $metric {
            config: $config,
            totals: Scores,
        }

        config! {
            #[doc = concat!("The arguments of [`", stringify!($metric), "`].")]
            pub struct $config => $metric {
                required {
                    /// The task; a number means that many classes.
                    task: Task,
                }
                optional {
                    /// How the scores of the classes are combined.
                    average: Average = Average::Micro,
                    /// The probability above which a binary task predicts 1.
                    threshold: f64 = 0.5,
                    /// Whether predictions of a binary task are logits.
                    from_logits: bool = false,
                    /// The score of a class if its denominator is 0.
                    zero_division: f64 = 0.0,
                    /// An ignored target.
                    ignore_index: Option<i64> = None,
                }
            }
        }

        impl $config {
            fn classes(&self) -> Classes {
                Classes {
                    metric: stringify!($metric),
                    task: self.task,
                    threshold: self.threshold,
                    from_logits: self.from_logits,
                    top_k: 1,
                    ignore_index: self.ignore_index,
                }
            }
        }

        impl Build for $config {
            type Output = $metric;

            /// # Errors
            ///
            /// Fewer than two classes; a threshold or `zero_division` outside `[0, 1]`.
            fn build(&self) -> Result<$metric> {
                self.classes().check()?;
                let zero_division = self.zero_division;
                check_between(stringify!($metric), "zero_division", zero_division, [0.0, 1.0])?;
                Ok($metric {
                    totals: Scores::of_task(stringify!($metric), self.task)?,
                    config: self.clone(),
                })
            }
        }

        impl $metric {
            fn add(&mut self, preds: &Tensor, target: &Tensor) -> Result<()> {
                let pairs = self.config.classes().pairs(preds, target)?;
                self.totals.add(&pairs);
                Ok(())
            }

            fn result(&self) -> Result<Tensor> {
                let $config { task, average, zero_division, .. } = self.config;
                let score: fn(Score) -> (f64, f64) = $score;
                self.totals.averaged(
                    stringify!($metric),
                    task,
                    average,
                    |class| class.support() + class.fp > 0.0,
                    |class| {
                        let (above, below) = score(class);
                        divide(above, below, zero_division)
                    },
                )
            }
        }

        metric!($metric, $config, Scores);
    };
}

of_scores! {
    /// The fraction of samples predicted as a class that belong to it: `tp / (tp + fp)`.
    ///
    /// Shapes and errors are those of [`Accuracy`](super::Accuracy).
    ///
    /// Source: torchmetrics' `Precision`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::metrics::{Metric, Precision, PrecisionConfig, Task};
    /// use module_nn::prelude::*;
    ///
    /// let mut precision = Precision::new(Task::Binary)?;
    /// precision.update(&Tensor::from([0.9_f32, 0.8, 0.1]), &Tensor::from([1_i64, 0, 1]))?;
    /// assert_eq!(precision.value()?, 0.5);
    ///
    /// // Logits, of which none is so high: no prediction, whose score would be 0/0.
    /// let config = PrecisionConfig::new(Task::Binary).from_logits(true).threshold(0.9);
    /// let mut precision = config.zero_division(1.0).ignore_index(-1).build()?;
    /// precision.update(&Tensor::from([1.0_f32, 0.0]), &Tensor::from([1_i64, -1]))?;
    /// assert_eq!(precision.value()?, 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    Precision PrecisionConfig |of| (of.tp, of.tp + of.fp)
}

of_scores! {
    /// The fraction of a class's samples that are predicted as it: `tp / (tp + fn)`.
    ///
    /// Shapes and errors are those of [`Accuracy`](super::Accuracy).
    ///
    /// Source: torchmetrics' `Recall`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::metrics::{Average, Metric, Recall, RecallConfig, Task};
    /// use module_nn::prelude::*;
    ///
    /// let mut recall = RecallConfig::new(2).average(Average::None).build()?;
    /// recall.update(&Tensor::from([0_i64, 0, 1]), &Tensor::from([0_i64, 1, 1]))?;
    /// assert_eq!(recall.compute()?.to_vec::<f64>()?, [1.0, 0.5]);
    ///
    /// // Logits, of which those above 0 count as 1; no sample of class 1 remains, and the score is 0/0.
    /// let config = RecallConfig::new(Task::Binary).from_logits(true).threshold(0.5).zero_division(1.0);
    /// let mut recall: Recall = config.ignore_index(1).build()?;
    /// recall.update(&Tensor::from([-1.0_f32, 2.0]), &Tensor::from([0_i64, 1]))?;
    /// assert_eq!(recall.value()?, 1.0);
    /// # Ok::<(), Error>(())
    /// ```
    Recall RecallConfig |of| (of.tp, of.tp + of.fn_)
}

of_scores! {
    /// The harmonic mean of precision and recall: `2 tp / (2 tp + fp + fn)`.
    ///
    /// Shapes and errors are those of [`Accuracy`](super::Accuracy).
    ///
    /// Source: torchmetrics' `F1Score`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::metrics::{Average, F1Score, F1ScoreConfig, Metric, Task};
    /// use module_nn::prelude::*;
    ///
    /// let mut f1 = F1ScoreConfig::new(2).average(Average::Macro).build()?;
    /// f1.update(&Tensor::from([0_i64, 0, 1]), &Tensor::from([0_i64, 1, 1]))?;
    /// assert!((f1.value()? - 2.0 / 3.0).abs() < 1e-15);
    ///
    /// // Logits: one of two positives is found, and nothing else.
    /// let config = F1ScoreConfig::new(Task::Binary).from_logits(true).threshold(0.8).zero_division(0.0);
    /// let mut f1: F1Score = config.ignore_index(-1).build()?;
    /// f1.update(&Tensor::from([2.0_f32, 1.0, 9.0]), &Tensor::from([1_i64, 1, -1]))?;
    /// assert!((f1.value()? - 2.0 / 3.0).abs() < 1e-15);
    /// # Ok::<(), Error>(())
    /// ```
    F1Score F1ScoreConfig |of| (2.0 * of.tp, 2.0 * of.tp + of.fp + of.fn_)
}
