use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use module_nn::{Result, Tensor};

use super::member::Member;
use crate::{Comm, ReduceOp, Work};

/// Parameters that are gathered and reduced together.
pub(super) struct Group {
    pub(super) members: Vec<Member>,
    /// The units that use them.
    pub(super) units: Vec<usize>,
    /// How many units that compute now hold the values.
    held: Mutex<usize>,
    /// The values that are on their way before a unit needs them.
    ahead: Mutex<Option<Gathering>>,
    comm: Arc<dyn Comm>,
}

/// The values of a group that are being gathered.
struct Gathering {
    /// This rank's parts of them. While they are held here, a step cannot change them in place.
    parts: Vec<Tensor>,
    work: Work<Vec<Tensor>>,
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each change is one assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Group {
    pub(super) fn new(members: Vec<Member>, units: Vec<usize>, comm: Arc<dyn Comm>) -> Self {
        Self {
            members,
            units,
            held: Mutex::default(),
            ahead: Mutex::default(),
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
        let ahead = lock(&self.ahead).take();
        let gathering = match ahead.filter(|ahead| self.is_current(ahead)) {
            Some(gathering) => gathering,
            None => self.start()?,
        };
        for (member, value) in self.members.iter().zip(self.finish(gathering.work)?) {
            if let Some(memory) = &*lock(&member.memory) {
                memory.fill(&value)?;
            }
        }
        Ok(())
    }

    /// Starts to gather the values, unless they are held or on their way.
    pub(super) fn gather_ahead(&self) -> Result<()> {
        let mut ahead = lock(&self.ahead);
        if ahead.is_none() && *lock(&self.held) == 0 {
            *ahead = Some(self.start()?);
        }
        Ok(())
    }

    /// Drops values that were gathered ahead and not needed.
    pub(super) fn drop_ahead(&self) {
        *lock(&self.ahead) = None;
    }

    /// Whether the parts have not been changed since they were sent.
    fn is_current(&self, ahead: &Gathering) -> bool {
        let mut members = self.members.iter().zip(&ahead.parts);
        members.all(|(member, part)| member.shard.detach().shares_memory_with(part))
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
        self.finish(self.start()?.work)
    }

    fn start(&self) -> Result<Gathering> {
        let parts = self.members.iter().map(|member| member.shard.detach());
        let parts = parts.collect::<Vec<_>>();
        let work = self.comm.start_all_gather(&Tensor::cat(&parts, 0)?)?;
        Ok(Gathering { parts, work })
    }

    fn finish(&self, work: Work<Vec<Tensor>>) -> Result<Vec<Tensor>> {
        let gathered = work.wait()?;
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
