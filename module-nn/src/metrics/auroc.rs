use module_core::{Error, Result, StateDict, Tensor};

use super::classes::check_task;
use super::metric::metric;
use super::read::{
    check_classes, check_same_shape, check_scores_shape, floats, integers, probabilities,
    wrong_dtype,
};
use super::totals::{Totals, numbers};
use super::{Average, MetricError, Task};
use crate::config::{Build, config};

/// The area under the receiver operating characteristic: the probability that a sample of the class has a higher score than
/// one of another class; equal scores count half.
///
/// For several classes, it is the average over each class against the rest. It is exact: the scores of all samples are
/// kept, `8 (C + 1)` bytes per sample.
///
/// Shapes are those of [`Accuracy`](super::Accuracy), but only scores are accepted. The value has no dimensions, or `[C]`
/// with [`Average::None`].
///
/// Source: torchmetrics' `AUROC`; Hanley and McNeil, *The meaning and use of the area under a receiver operating
/// characteristic (ROC) curve* (1982).
///
/// # Errors
///
/// Those of [`MetricError`]: among them [`OneClass`](MetricError::OneClass) for a class that no sample has, or all have,
/// for which scikit-learn says that it is undefined and torchmetrics gives 0.
///
/// # Example
///
/// ```
/// use module_nn::metrics::{AUROC, Metric, Task};
/// use module_nn::prelude::*;
///
/// let mut auroc = AUROC::new(Task::Binary)?;
/// auroc.update(&Tensor::from([0.1_f32, 0.4, 0.35, 0.8]), &Tensor::from([0_i64, 0, 1, 1]))?;
/// assert_eq!(auroc.value()?, 0.75);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct AUROC {
    config: AUROCConfig,
    totals: Ranked,
}

config! {
    /// The arguments of [`AUROC`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::metrics::{AUROCConfig, Average, Metric, Task};
    /// use module_nn::prelude::*;
    ///
    /// let config = AUROCConfig::new(Task::Binary).from_logits(true).ignore_index(-1);
    /// let mut auroc = config.build()?;
    /// auroc.update(&Tensor::from([-2.0_f32, 0.5, 3.0, 9.0]), &Tensor::from([0_i64, 0, 1, -1]))?;
    /// assert_eq!(auroc.value()?, 1.0);
    /// assert!(AUROCConfig::new(3).average(Average::Micro).build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AUROCConfig => AUROC {
        required {
            /// The task; a number means that many classes.
            task: Task,
        }
        optional {
            /// How the areas of the classes are combined: any except [`Average::Micro`].
            average: Average = Average::Macro,
            /// Whether predictions are logits, which a sigmoid (binary) or a softmax converts to probabilities.
            from_logits: bool = false,
            /// An ignored target.
            ignore_index: Option<i64> = None,
        }
    }
}

impl Build for AUROCConfig {
    type Output = AUROC;

    /// # Errors
    ///
    /// Fewer than two classes, [`Average::Micro`].
    fn build(&self) -> Result<AUROC> {
        check_task("AUROC", self.task)?;
        if self.average == Average::Micro && self.task != Task::Binary {
            let problem = "must be `Macro`, `Weighted` or `None`";
            return Err(Error::argument("AUROC", "average", "Micro", problem));
        }
        let width = match self.task {
            Task::Binary => 1,
            Task::Multiclass(classes) => classes,
        };
        let totals = Ranked {
            width,
            ..Ranked::default()
        };
        let config = self.clone();
        Ok(AUROC { config, totals })
    }
}

/// The scores and the class of each sample.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranked {
    width: usize,
    scores: Vec<f64>,
    targets: Vec<f64>,
}

impl Totals for Ranked {
    fn tensors(&self) -> Result<StateDict> {
        let count = self.targets.len();
        let scores = Tensor::from_vec(self.scores.clone(), [count, self.width])?;
        let targets = Tensor::from(self.targets.clone());
        let named = [("scores", scores), ("targets", targets)];
        Ok(named.into_iter().collect())
    }

    fn read(&self, op: &'static str, tensors: &StateDict) -> Result<Self> {
        let width = self.width;
        let scores = numbers(op, "scores", tensors)?;
        let targets = numbers(op, "targets", tensors)?;
        if scores.len() != targets.len() * width {
            let problem = format!("there must be {width} for each of the targets");
            return Err(Error::argument(op, "scores", scores.len(), problem));
        }
        Ok(Self {
            width,
            scores,
            targets,
        })
    }

    fn merge(&mut self, other: Self) -> Result<()> {
        self.scores.extend(other.scores);
        self.targets.extend(other.targets);
        Ok(())
    }

    fn reset(&mut self) {
        self.scores.clear();
        self.targets.clear();
    }
}

/// The area of a class, from the mean rank of its samples.
fn area(mut samples: Vec<(f64, bool)>) -> Option<f64> {
    samples.sort_by(|a, b| a.0.total_cmp(&b.0));
    let positives = samples.iter().filter(|sample| sample.1).count() as f64;
    let negatives = samples.len() as f64 - positives;
    let (mut before, mut ranks) = (0.0, 0.0);
    for equal in samples.chunk_by(|a, b| a.0 == b.0) {
        let count = equal.len() as f64;
        let positive = equal.iter().filter(|sample| sample.1).count() as f64;
        ranks += positive * (before + (count + 1.0) / 2.0);
        before += count;
    }
    let pairs = positives * negatives;
    (pairs > 0.0).then(|| (ranks - positives * (positives + 1.0) / 2.0) / pairs)
}

impl AUROC {
    fn add(&mut self, preds: &Tensor, target: &Tensor) -> Result<()> {
        const NAME: &str = "AUROC";
        let AUROCConfig {
            task,
            from_logits,
            ignore_index,
            ..
        } = self.config;
        if !preds.dtype().is_floating_point() {
            let expected = "probabilities or logits as floating-point numbers";
            return Err(wrong_dtype(NAME, "preds", preds, expected));
        }
        let classes = task.num_classes();
        let truth = integers(NAME, "target", target)?;
        check_classes(NAME, "target", &truth, classes, ignore_index)?;
        // As rows of the scores of a sample.
        let preds = match task {
            Task::Binary => {
                check_same_shape(NAME, preds, target)?;
                probabilities(NAME, preds, from_logits.then_some(Tensor::sigmoid))?
            }
            Task::Multiclass(_) => {
                check_scores_shape(NAME, preds, target, classes)?;
                let softmax = |preds: &Tensor| preds.softmax(1);
                probabilities(NAME, preds, from_logits.then_some(softmax))?.movedim(1, -1)?
            }
        };
        let scores = floats(NAME, "preds", &preds)?;
        for (row, class) in scores.chunks_exact(self.totals.width).zip(truth) {
            if Some(class) != ignore_index {
                self.totals.scores.extend_from_slice(row);
                self.totals.targets.push(class as f64);
            }
        }
        Ok(())
    }

    fn result(&self) -> Result<Tensor> {
        const METRIC: &str = "AUROC";
        let Ranked {
            width,
            scores,
            targets,
        } = &self.totals;
        if targets.is_empty() {
            return Err(MetricError::Empty { metric: METRIC }.into());
        }
        let area_of = |column: usize, class: usize| {
            let column = scores.iter().skip(column).step_by(*width);
            let is_class = targets.iter().map(|&target| target == class as f64);
            let samples: Vec<(f64, bool)> = column.copied().zip(is_class).collect();
            let positives = samples.iter().filter(|sample| sample.1).count();
            let negatives = samples.len() - positives;
            let undefined = MetricError::OneClass {
                metric: METRIC,
                class,
                positives,
                negatives,
            };
            let area = area(samples).ok_or(undefined)?;
            Ok((area, positives as f64))
        };
        if self.config.task == Task::Binary {
            return Ok(area_of(0, 1)?.0.into());
        }
        let areas = (0..*width).map(|class| area_of(class, class));
        let areas: Vec<(f64, f64)> = areas.collect::<Result<_>>()?;
        let value: f64 = match self.config.average {
            Average::None => {
                let areas: Vec<f64> = areas.into_iter().map(|(area, _)| area).collect();
                return Ok(areas.into());
            }
            Average::Weighted => {
                let weighted = areas.iter().map(|(area, positives)| area * positives);
                weighted.sum::<f64>() / targets.len() as f64
            }
            _ => areas.iter().map(|(area, _)| area).sum::<f64>() / areas.len() as f64,
        };
        Ok(value.into())
    }
}

metric!(AUROC, AUROCConfig, Ranked);
