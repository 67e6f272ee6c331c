//! The collectives, composed of messages between two ranks.
//!
//! In each step a rank waits for every other one directly. If one does not answer, those that wait for it know which one it
//! is; in a tree or a ring, most ranks would blame a neighbor that waits itself.

use module_nn::{Device, Result, Tensor};

use super::endpoint::Core;
use super::reduce::reduce;
use super::{Channel, ReduceOp, Transport};

/// Elements up to which `all_reduce` is one step, in which every rank gets everything.
const ONE_STEP: usize = 1024;

/// One collective: its number in the group, and what it is called with.
pub(super) struct Collective<'a, T: Transport> {
    pub(super) core: &'a Core<T>,
    pub(super) number: u64,
    pub(super) call: String,
}

impl<T: Transport> Collective<'_, T> {
    fn channel(&self, phase: u8) -> Channel {
        let (group, number) = (self.core.group(), self.number);
        Channel {
            group,
            number,
            phase,
        }
    }

    fn send(&self, to: usize, phase: u8, tensor: &Tensor) -> Result<()> {
        self.core.send(to, self.channel(phase), &self.call, tensor)
    }

    fn receive(&self, from: usize, phase: u8) -> Result<Tensor> {
        // A rank that waits in an earlier step gives up first, because it knows whom it waits for.
        let patience = 1.0 + 0.25 * f64::from(phase);
        let channel = self.channel(phase);
        self.core.receive(from, channel, &self.call, patience)
    }

    /// The tensors of all ranks, sent in step `phase`.
    fn exchange(&self, mine: &Tensor, phase: u8) -> Result<Vec<Tensor>> {
        for to in self.core.others() {
            self.send(to, phase, mine)?;
        }
        self.collect(mine, phase)
    }

    /// The tensors that the other ranks send in step `phase`, with `mine` at this rank's position.
    fn collect(&self, mine: &Tensor, phase: u8) -> Result<Vec<Tensor>> {
        let all = 0..self.core.size();
        all.map(|from| match from == self.core.rank() {
            true => Ok(mine.clone()),
            false => self.receive(from, phase),
        })
        .collect()
    }

    /// Sends part `r` to rank `r`, and combines what the others send for this rank.
    fn reduce_parts(&self, parts: &[Tensor], op: ReduceOp) -> Result<Tensor> {
        let mut combined = Vec::new();
        for (to, part) in parts.iter().enumerate() {
            if to != self.core.rank() {
                self.send(to, 0, part)?;
            }
        }
        if let Some(mine) = parts.get(self.core.rank()) {
            combined = self.collect(mine, 0)?;
        }
        reduce(&combined, op)
    }

    pub(super) fn all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<Tensor> {
        let count = tensor.numel();
        let flat = tensor.to_device(&Device::cpu())?.reshape([count])?;
        let size = self.core.size();
        let total = if size == 1 {
            flat
        } else if count <= ONE_STEP {
            reduce(&self.exchange(&flat, 0)?, op)?
        } else {
            let bound = |rank: usize| rank * count / size;
            let parts = (0..size).map(|rank| flat.narrow(0, bound(rank)..bound(rank + 1)));
            let parts = parts.collect::<Result<Vec<_>>>()?;
            let mine = self.reduce_parts(&parts, op)?;
            Tensor::cat(&self.exchange(&mine, 1)?, 0)?
        };
        total.reshape(tensor.shape())?.to_device(&tensor.device())
    }

    pub(super) fn reduce_scatter(&self, tensor: &Tensor, op: ReduceOp) -> Result<Tensor> {
        let rows = tensor.size(0)? / self.core.size();
        let host = tensor.to_device(&Device::cpu())?;
        let parts =
            (0..self.core.size()).map(|rank| host.narrow(0, rank * rows..(rank + 1) * rows));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        self.reduce_parts(&parts, op)?.to_device(&tensor.device())
    }

    pub(super) fn all_gather(&self, tensor: &Tensor) -> Result<Vec<Tensor>> {
        let host = tensor.to_device(&Device::cpu())?;
        let gathered = self.exchange(&host, 0)?.into_iter();
        gathered
            .map(|part| part.to_device(&tensor.device()))
            .collect()
    }

    pub(super) fn broadcast(&self, tensor: &Tensor, root: usize) -> Result<Tensor> {
        if self.core.rank() != root {
            return self.receive(root, 0)?.to_device(&tensor.device());
        }
        let host = tensor.to_device(&Device::cpu())?;
        for to in self.core.others() {
            self.send(to, 0, &host)?;
        }
        Ok(tensor.clone())
    }

    pub(super) fn barrier(&self) -> Result<()> {
        self.exchange(&Tensor::from([0_u8; 0]), 0).map(drop)
    }
}
