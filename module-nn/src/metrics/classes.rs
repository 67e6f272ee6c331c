//! Predicted and true classes, from any form of predictions.

use module_core::{DType, Error, Result, Tensor};

use super::read::{check_classes, check_same_shape, check_scores_shape, integers, probabilities};
use super::{MetricError, Task};
use crate::config::check_between;

/// How a metric reads classes.
#[derive(Clone, Copy)]
pub(super) struct Classes {
    pub(super) metric: &'static str,
    pub(super) task: Task,
    pub(super) threshold: f64,
    pub(super) from_logits: bool,
    pub(super) top_k: usize,
    pub(super) ignore_index: Option<i64>,
}

/// The predicted and the true class of a sample.
pub(super) type Pair = (usize, usize);

/// Refuses fewer than two classes.
pub(super) fn check_task(metric: &'static str, task: Task) -> Result<()> {
    let classes = task.num_classes();
    if classes >= 2 {
        return Ok(());
    }
    let problem = "must be at least 2; give `Task::Binary` for one probability per sample";
    Err(Error::argument(metric, "num_classes", classes, problem))
}

impl Classes {
    /// Refuses options that no predictions can match.
    pub(super) fn check(&self) -> Result<()> {
        let Self {
            metric,
            task,
            threshold,
            top_k,
            ..
        } = *self;
        check_task(metric, task)?;
        check_between(metric, "threshold", threshold, [0.0, 1.0])?;
        let most = match task {
            Task::Binary => 1,
            Task::Multiclass(classes) => classes,
        };
        match (1..=most).contains(&top_k) {
            true => Ok(()),
            false => {
                let problem = format!("must be from 1 to {most} for this task");
                Err(Error::argument(metric, "top_k", top_k, problem))
            }
        }
    }

    /// The classes of the samples that count.
    pub(super) fn pairs(&self, preds: &Tensor, target: &Tensor) -> Result<Vec<Pair>> {
        let classes = self.task.num_classes();
        let truth = integers(self.metric, "target", target)?;
        check_classes(self.metric, "target", &truth, classes, self.ignore_index)?;
        let is_float = preds.dtype().is_floating_point();
        let predicted = match self.task {
            _ if !is_float => self.given(preds, target)?,
            Task::Binary => self.above_threshold(preds, target)?,
            Task::Multiclass(_) => {
                check_scores_shape(self.metric, preds, target, classes)?;
                let best = integers(self.metric, "preds", &preds.argmax(1)?)?;
                match self.top_k {
                    1 => best,
                    _ => self.among_top(preds, target, &truth, best)?,
                }
            }
        };
        let counted = predicted.iter().zip(&truth);
        let counted = counted.filter(|(_, truth)| Some(**truth) != self.ignore_index);
        counted
            .map(|(&predicted, &truth)| {
                let of = |what, class: i64| {
                    let index = usize::try_from(class).ok().filter(|&c| c < classes);
                    index.ok_or(MetricError::Class {
                        metric: self.metric,
                        what,
                        class,
                        num_classes: classes,
                    })
                };
                Ok((of("preds", predicted)?, of("target", truth)?))
            })
            .collect()
    }

    /// Predictions that are already classes.
    fn given(&self, preds: &Tensor, target: &Tensor) -> Result<Vec<i64>> {
        check_same_shape(self.metric, preds, target)?;
        if self.top_k != 1 {
            let problem = format!(
                "needs scores of all classes, and preds are {}",
                preds.dtype()
            );
            return Err(Error::argument(self.metric, "top_k", self.top_k, problem));
        }
        integers(self.metric, "preds", preds)
    }

    fn above_threshold(&self, preds: &Tensor, target: &Tensor) -> Result<Vec<i64>> {
        check_same_shape(self.metric, preds, target)?;
        let sigmoid = self.from_logits.then_some(Tensor::sigmoid);
        let above = probabilities(self.metric, preds, sigmoid)?.gt(self.threshold)?;
        integers(self.metric, "preds", &above)
    }

    /// The true class if fewer than `top_k` scores rank before its own, otherwise the best one. Of equal scores, the lower
    /// class ranks first.
    fn among_top(
        &self,
        preds: &Tensor,
        target: &Tensor,
        truth: &[i64],
        best: Vec<i64>,
    ) -> Result<Vec<i64>> {
        let classes = self.task.num_classes();
        // An ignored class may not exist: any other serves as a placeholder.
        let inside = truth.iter().map(|&class| match self.ignore_index {
            Some(ignored) if ignored == class => 0,
            _ => class,
        });
        let inside = Tensor::from_vec(inside.collect::<Vec<i64>>(), target.shape().clone())?;
        let inside = inside.to_device(&preds.device())?.unsqueeze(1)?;
        let own = preds.gather(1, &inside)?;
        let order = Tensor::arange(0, classes, (DType::I64, preds.device()))?;
        let ones = preds.shape()[2..].iter().map(|_| 1);
        let shape: Vec<usize> = [1, classes].into_iter().chain(ones).collect();
        let later = order.reshape(shape)?.ge(&inside)?;
        let behind = preds
            .lt(&own)?
            .logical_or(&preds.eq(&own)?.logical_and(&later)?)?;
        let behind = behind.sum(1)?.to_dtype(DType::I64)?.to_vec::<i64>()?;
        let least = (classes - self.top_k) as i64;
        let chosen = truth.iter().zip(best).zip(behind);
        Ok(chosen
            .map(|((&truth, best), behind)| if behind > least { truth } else { best })
            .collect())
    }
}
