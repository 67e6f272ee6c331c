use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use module_nn::{Result, Tensor};

use super::member::Member;
use crate::{Comm, ReduceOp};

/// Parameters that are gathered and reduced together.
pub(super) struct Group {
    pub(super) members: Vec<Member>,
    /// The units that use them.
    pub(super) units: Vec<usize>,
    /// How many units that compute now hold the values.
    held: Mutex<usize>,
    comm: Arc<dyn Comm>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is one assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Group {
    pub(super) fn new(members: Vec<Member>, units: Vec<usize>, comm: Arc<dyn Comm>) -> Self {
        let held = Mutex::new(0);
        Self {
            members,
            units,
            held,
            comm,
        }
    }

    /// Fills the parameters with their values, unless a unit holds them already.
    pub(super) fn acquire(&self) -> Result<()> {
        let is_first = {
            let mut held = lock(&self.held);
            *held += 1;
            *held == 1
        };
        if !is_first {
            return Ok(());
        }
        for member in &self.members {
            member.check_value(self.comm.rank())?;
        }
        let values = self.gather()?;
        for (member, value) in self.members.iter().zip(values) {
            if let Some(memory) = &*lock(&member.memory) {
                memory.fill(&value)?;
            }
        }
        Ok(())
    }

    /// Drops the values, if no other unit holds them.
    pub(super) fn release(&self) {
        let mut held = lock(&self.held);
        *held = held.saturating_sub(1);
        if *held > 0 {
            return;
        }
        drop(held);
        for member in &self.members {
            if let Some(memory) = &*lock(&member.memory) {
                memory.release();
            }
        }
    }

    /// The whole values of the members, from the ranks' parts.
    pub(super) fn gather(&self) -> Result<Vec<Tensor>> {
        let parts = self.members.iter().map(|member| member.shard.detach());
        self.gather_parts(&parts.collect::<Vec<_>>())
    }

    /// The whole tensors that have these parts on the ranks.
    pub(super) fn gather_parts(&self, parts: &[Tensor]) -> Result<Vec<Tensor>> {
        let gathered = self.comm.all_gather(&Tensor::cat(parts, 0)?)?;
        let mut start = 0;
        let mut whole = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let end = start + member.division.part_len();
            let parts = gathered.iter().map(|rank| rank.narrow(0, start..end));
            whole.push(member.division.whole(&parts.collect::<Result<Vec<_>>>()?)?);
            start = end;
        }
        Ok(whole)
    }

    /// The mean over the ranks of the gradients, as they are: whole.
    pub(super) fn all_reduce_grads(&self) -> Result<Vec<Tensor>> {
        let mut flat = Vec::with_capacity(self.members.len());
        for member in &self.members {
            flat.push(member.grad_or_zeros()?.reshape([member.division.numel()])?);
        }
        let reduced = self
            .comm
            .all_reduce(&Tensor::cat(&flat, 0)?, ReduceOp::Mean)?;
        drop(flat);
        let mut start = 0;
        let mut whole = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let end = start + member.division.numel();
            let part = reduced.narrow(0, start..end)?;
            whole.push(part.reshape(&member.division.shape)?);
            start = end;
        }
        Ok(whole)
    }

    /// This rank's parts of the mean over the ranks of the gradients, which are dropped.
    pub(super) fn reduce_scatter_grads(&self) -> Result<Vec<Tensor>> {
        let mut parts = Vec::new();
        for member in &self.members {
            parts.push(member.division.parts(&member.grad_or_zeros()?)?);
            member.parameter.zero_grad();
        }
        let ranks = 0..self.comm.size();
        let ordered = ranks.flat_map(|rank| parts.iter().filter_map(move |parts| parts.get(rank)));
        let flat = Tensor::cat(&ordered.collect::<Vec<_>>(), 0)?;
        drop(parts);
        let own = self.comm.reduce_scatter(&flat, ReduceOp::Mean)?;
        let mut start = 0;
        let mut shards = Vec::with_capacity(self.members.len());
        for member in &self.members {
            let end = start + member.division.part_len();
            // With memory of its own, which an optimizer may keep.
            shards.push(member.division.filled(&own.narrow(0, start..end)?)?);
            start = end;
        }
        Ok(shards)
    }
}
