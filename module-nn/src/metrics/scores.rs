//! True positives, false positives and false negatives of each class, from which the scores are computed.

use module_core::{Result, Tensor};

use super::classes::Pair;
use super::totals::Sums;
use super::{Average, MetricError, Task};

/// True positives, false positives and false negatives of each class.
pub(super) type Scores = Sums<3>;

/// The counts of one class, or of several together.
#[derive(Clone, Copy, Default)]
pub(super) struct Score {
    pub(super) tp: f64,
    pub(super) fp: f64,
    pub(super) fn_: f64,
}

impl Score {
    /// The number of samples of this class.
    pub(super) fn support(self) -> f64 {
        self.tp + self.fn_
    }
}

/// `a / b`, or `otherwise` if that is undefined.
pub(super) fn divide(a: f64, b: f64, otherwise: f64) -> f64 {
    if b == 0.0 { otherwise } else { a / b }
}

impl Scores {
    pub(super) fn of_task(metric: &'static str, task: Task) -> Result<Self> {
        Self::of_classes(metric, task, ["tp", "fp", "fn"], Some(task.num_classes()))
    }

    pub(super) fn add(&mut self, pairs: &[Pair]) {
        let [tp, fp, fn_] = &mut self.of;
        for &(predicted, truth) in pairs {
            if predicted == truth {
                tp[truth] += 1.0;
            } else {
                fp[predicted] += 1.0;
                fn_[truth] += 1.0;
            }
        }
    }

    fn classes(&self) -> Vec<Score> {
        let [tp, fp, fn_] = &self.of;
        let each = tp.iter().zip(fp).zip(fn_);
        each.map(|((&tp, &fp), &fn_)| Score { tp, fp, fn_ })
            .collect()
    }

    /// The counts of all classes together.
    pub(super) fn whole(&self) -> Score {
        let [tp, fp, fn_] = self.of.each_ref().map(|values| values.iter().sum());
        Score { tp, fp, fn_ }
    }

    /// The score of the classes, where the mean is taken over those for which `occurs` is true.
    pub(super) fn averaged(
        &self,
        metric: &'static str,
        task: Task,
        average: Average,
        occurs: impl Fn(Score) -> bool,
        score: impl Fn(Score) -> f64,
    ) -> Result<Tensor> {
        if self.whole().support() == 0.0 {
            return Err(MetricError::Empty { metric }.into());
        }
        let classes = self.classes();
        let mean = |weight: &dyn Fn(Score) -> f64| {
            let weights: f64 = classes.iter().map(|&class| weight(class)).sum();
            let scores: f64 = classes.iter().map(|&c| weight(c) * score(c)).sum();
            scores / weights
        };
        let value = match (task, average) {
            (Task::Binary, _) => score(classes.last().copied().unwrap_or_default()),
            (_, Average::Micro) => score(self.whole()),
            (_, Average::Macro) => mean(&|class| f64::from(u8::from(occurs(class)))),
            (_, Average::Weighted) => mean(&Score::support),
            (_, Average::None) => {
                return Ok(classes.into_iter().map(score).collect::<Vec<f64>>().into());
            }
        };
        Ok(value.into())
    }
}
