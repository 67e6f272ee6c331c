//! The end of a pass: averages become gradients, and buffers those of one rank.

use std::sync::atomic::Ordering;

use module_nn::{DType, Result, Tensor};

use super::Reducer;
use crate::data_parallel::pass::Pass;
use crate::data_parallel::watch::check_checksums;
use crate::{FailureCause, ReduceOp};

impl Reducer {
    /// Waits for the averages, and hands them out as gradients.
    pub(super) fn finish(&self, pass: Pass) -> Result<()> {
        let mut averages = Vec::with_capacity(pass.started.len());
        let mut mine = Vec::with_capacity(pass.started.len());
        for (work, gradients) in pass.started {
            averages.push(self.rescale(work.wait()?, pass.active.as_deref())?);
            mine.push(gradients);
        }
        if self.config.check_finite {
            self.check_finite(&averages, &mine)?;
        }
        let used = self.used_anywhere(&pass.used)?;
        for (bucket, average) in self.buckets.iter().zip(&averages) {
            for member in &bucket.members {
                if used.get(member.parameter) == Some(&false) {
                    continue;
                }
                let (_, parameter) = &self.parameters[member.parameter];
                let grad = average.narrow(0, member.range.clone())?;
                parameter.set_grad(grad.reshape(parameter.shape())?)?;
            }
        }
        if self.config.broadcast_buffers {
            let first = pass.active.as_ref().and_then(|active| active.first());
            self.broadcast_buffers(first.copied().unwrap_or(0))?;
        }
        let steps = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
        if self.config.check_every > 0 && steps.is_multiple_of(self.config.check_every) {
            let parameters = self.parameters.iter();
            let values = parameters.map(|(path, it)| (path.as_str(), it.detach()));
            check_checksums(&values.collect::<Vec<_>>(), &*self.comm)?;
        }
        Ok(())
    }

    /// The average over the active ranks, from that over all.
    fn rescale(&self, average: Tensor, active: Option<&[usize]>) -> Result<Tensor> {
        match active {
            Some(active) if self.config.divide_by_active_ranks => {
                average.mul(self.comm.size() as f64 / active.len().max(1) as f64)
            }
            _ => Ok(average),
        }
    }

    /// Which parameters some rank used.
    fn used_anywhere(&self, used: &[bool]) -> Result<Vec<bool>> {
        if !self.config.find_unused_parameters {
            return Ok(vec![true; used.len()]);
        }
        let used = self.comm.all_reduce(&Tensor::from(used), ReduceOp::Max)?;
        used.to_vec()
    }

    /// Ends the run if an average is not finite. All ranks find the same, because they have the same averages.
    fn check_finite(&self, averages: &[Tensor], mine: &[Tensor]) -> Result<()> {
        let finite = |tensor: &Tensor| tensor.isfinite()?.all(..)?.item::<bool>();
        let mut bad = None;
        for (i, average) in averages.iter().enumerate() {
            if !finite(average)? {
                bad = bad.or(Some(i));
            }
        }
        let Some(bad) = bad else { return Ok(()) };
        let first = |tensor: &Tensor| -> Result<i64> {
            for member in &self.buckets[bad].members {
                if !finite(&tensor.narrow(0, member.range.clone())?)? {
                    return Ok(member.parameter as i64);
                }
            }
            Ok(-1)
        };
        let found = first(&mine[bad])?;
        for (rank, theirs) in self
            .comm
            .all_gather(&Tensor::from(found))?
            .iter()
            .enumerate()
        {
            if let Ok(parameter) = usize::try_from(theirs.to_dtype(DType::I64)?.item::<i64>()?) {
                let path = self
                    .parameters
                    .get(parameter)
                    .map(|(path, _)| path.as_str());
                let what = format!("the gradient of `{}`", path.unwrap_or_default());
                return Err(self.failure_of(rank, FailureCause::NonFinite { what }));
            }
        }
        let sum = usize::try_from(first(&averages[bad])?).unwrap_or_default();
        let path = self.parameters.get(sum).map(|(path, _)| path.as_str());
        let what = format!(
            "the sum over all ranks of the gradient of `{}`",
            path.unwrap_or_default()
        );
        Err(self.failure_of(0, FailureCause::NonFinite { what }))
    }

    /// Gives the buffers of rank `root` to all.
    fn broadcast_buffers(&self, root: usize) -> Result<()> {
        let start = |(_, buffer): &(String, module_nn::Buffer)| {
            self.comm.start_broadcast(&buffer.tensor(), root)
        };
        let works = self.buffers.iter().map(start).collect::<Result<Vec<_>>>()?;
        for ((_, buffer), work) in self.buffers.iter().zip(works) {
            buffer.set(work.wait()?)?;
        }
        Ok(())
    }
}
