use std::sync::Arc;

use module_nn::prelude::*;
use module_nn::{Integers, Reduction};

use super::collectives::reduce_from_ranks;
use super::embedding::local_indices;
use crate::{Comm, ReduceOp};

const NAME: &str = "VocabParallelCrossEntropyLoss";

/// [`CrossEntropyLoss`] of logits whose classes are divided among ranks; no rank ever has those of all classes.
///
/// With the logits `x`, of which each rank has `x_c` of its own classes, and the target `y`:
///
/// ```text
/// m = max_c x_c      s = Σ_c exp(x_c - m)      loss = log s - (x_y - m)
/// ```
///
/// The maximum and both sums are taken over all ranks. The loss is the same on all ranks.
///
/// Source: Megatron-LM, `vocab_parallel_cross_entropy`.
///
/// # Shapes
///
/// Logits `[…, classes / ranks]` and class indices `[…]`, `I64`, `I32` or `U8`, give a loss `[]`, or `[…]` without
/// reduction.
///
/// # Errors
///
/// Shapes that do not match; indices that are not integers or out of range; those of the collectives.
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::{VocabParallelCrossEntropyLoss, scatter_to_ranks};
/// use module_nn::prelude::*;
///
/// let (logits, target) = (Tensor::from([[1.0, 2.0, 3.0, 0.5]]), Tensor::from([2_i64]));
/// let losses = LocalComm::run(2, |comm| {
///     let part = scatter_to_ranks(&logits, -1, &comm)?;
///     let loss = VocabParallelCrossEntropyLoss::new(comm);
///     loss.call((part, target.clone()))?.item::<f64>()
/// })?;
/// let whole = CrossEntropyLoss::new().call((logits.clone(), target.clone()))?.item::<f64>()?;
/// assert!((losses[1] - whole).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct VocabParallelCrossEntropyLoss {
    ignore_index: i64,
    label_smoothing: f64,
    #[module(skip)]
    reduction: Reduction,
    #[module(skip)]
    comm: Arc<dyn Comm>,
}

impl VocabParallelCrossEntropyLoss {
    /// The mean loss.
    pub fn new(comm: Arc<dyn Comm>) -> Self {
        Self {
            ignore_index: -100,
            label_smoothing: 0.0,
            reduction: Reduction::Mean,
            comm,
        }
    }

    /// The class index whose positions do not count.
    #[must_use]
    pub fn ignore_index(self, ignore_index: i64) -> Self {
        Self {
            ignore_index,
            ..self
        }
    }

    /// How much of the target is spread evenly over all classes, from 0 to 1.
    #[must_use]
    pub fn label_smoothing(self, label_smoothing: f64) -> Self {
        Self {
            label_smoothing,
            ..self
        }
    }

    /// How the losses of the positions are combined.
    #[must_use]
    pub fn reduction(self, reduction: Reduction) -> Self {
        Self { reduction, ..self }
    }

    /// The loss of each position, whatever its class index.
    fn losses(&self, logits: &Tensor, target: &Tensor) -> Result<Tensor> {
        let part = logits.size(-1)?;
        let classes = part * self.comm.size();
        let start = self.comm.rank() * part;
        let largest = logits.detach().amax(-1)?;
        let largest = self.comm.all_reduce(&largest, ReduceOp::Max)?;
        let shifted = logits.sub(&largest.unsqueeze(-1)?)?;
        let (local, outside) = local_indices(target, &(start..start + part))?;
        let picked = shifted.gather(-1, &local.unsqueeze(-1)?)?.squeeze(-1)?;
        let picked = picked.masked_fill(&outside, 0.0)?;
        let mut sums = vec![shifted.exp()?.sum(-1)?, picked];
        if self.label_smoothing > 0.0 {
            sums.push(shifted.sum(-1)?);
        }
        // One message for all sums.
        let sums = reduce_from_ranks(&Tensor::stack(&sums, 0)?, &self.comm)?;
        let log_sum = sums.select(0, 0)?.log()?;
        let loss = log_sum.sub(&sums.select(0, 1)?)?;
        if self.label_smoothing == 0.0 {
            return Ok(loss);
        }
        let even = log_sum.sub(&sums.select(0, 2)?.div(classes as f64)?)?;
        let kept = 1.0 - self.label_smoothing;
        loss.mul(kept)?.add(&even.mul(self.label_smoothing)?)
    }

    /// Which positions do not count; refuses class indices that do not exist.
    fn ignored(&self, target: &Tensor, classes: usize) -> Result<Tensor> {
        let ignored = target.eq(self.ignore_index)?;
        let known = target.masked_fill(&ignored, 0)?;
        if known.numel() > 0 {
            let (low, high) = (
                known.amin(..)?.item::<i64>()?,
                known.amax(..)?.item::<i64>()?,
            );
            let wrong = if low < 0 { Some(low) } else { Some(high) };
            let out_of_range = |&index: &i64| index < 0 || index as usize >= classes;
            if let Some(index) = wrong.filter(out_of_range) {
                let problem = format!("must be from 0 to {}", classes.saturating_sub(1));
                return Err(Error::argument(NAME, "target", index, problem));
            }
        }
        Ok(ignored)
    }
}

impl Forward<(Tensor, Tensor)> for VocabParallelCrossEntropyLoss {
    type Output = Tensor;

    fn forward(&self, (logits, target): (Tensor, Tensor)) -> Result<Tensor> {
        let target = target.to_integers(NAME, Integers::Classes)?;
        let classes = logits.size(-1)? * self.comm.size();
        let leading: Shape = logits.shape().iter().take(target.rank()).copied().collect();
        if logits.rank() != target.rank() + 1 || leading != *target.shape() {
            let expected = format!(
                "a target of all dimensions of the logits {} but the last",
                logits.shape()
            );
            return Err(target.shape().error(NAME, expected));
        }
        let ignored = self.ignored(&target, classes)?;
        let target = target.masked_fill(&ignored, 0)?;
        let losses = self.losses(&logits, &target)?.masked_fill(&ignored, 0.0)?;
        match self.reduction {
            Reduction::None => Ok(losses),
            Reduction::Sum => losses.sum(..),
            Reduction::Mean => {
                let counted = ignored.logical_not()?.to_dtype(losses.dtype())?.sum(..)?;
                losses.sum(..)?.div(&counted)
            }
        }
    }
}
