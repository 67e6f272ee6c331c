//! Parameters that several stages share.

use std::collections::BTreeSet;

use module_nn::prelude::*;
use module_nn::{IndexMap, TensorId};

use super::TIED;
use crate::Comm;

/// A parameter of this rank that other stages have too.
pub(super) struct Tie {
    parameter: Parameter,
    /// The ranks that have it, in order.
    ranks: Vec<usize>,
}

/// The parameters of stage `rank` that other stages share, in the same order on all ranks.
pub(super) fn find(layers: &Sequential, counts: &[usize], rank: usize) -> Result<Vec<Tie>> {
    let mut found: IndexMap<TensorId, (Parameter, BTreeSet<usize>)> = IndexMap::new();
    let stages = counts.iter().enumerate();
    let stages = stages.flat_map(|(stage, &count)| std::iter::repeat_n(stage, count));
    for (i, stage) in stages.enumerate() {
        for parameter in layers.layer(i)?.parameters() {
            let share = || (parameter.share(), BTreeSet::new());
            let (_, ranks) = found.entry(parameter.id()).or_insert_with(share);
            ranks.insert(stage);
        }
    }
    let shared = found.into_values();
    let shared = shared.filter(|(_, ranks)| ranks.len() > 1 && ranks.contains(&rank));
    let tie = |(parameter, ranks): (Parameter, BTreeSet<usize>)| Tie {
        parameter,
        ranks: ranks.into_iter().collect(),
    };
    Ok(shared.map(tie).collect())
}

impl Tie {
    /// Takes the gradient of earlier passes, which is summed already.
    pub(super) fn take_grad(&self) -> Option<Tensor> {
        let grad = self.parameter.grad();
        self.parameter.zero_grad();
        grad
    }

    /// Adds the gradients of all stages, and those of `earlier` passes.
    pub(super) fn sum(&self, comm: &dyn Comm, earlier: Option<Tensor>) -> Result<()> {
        if !self.parameter.requires_grad() {
            return match earlier {
                Some(grad) => self.parameter.set_grad(grad),
                None => Ok(()),
            };
        }
        let own = match self.parameter.grad() {
            Some(grad) => grad,
            None => self.parameter.detach().zeros_like()?,
        };
        let total = self.exchange(comm, own)?;
        self.parameter.set_grad(match earlier {
            Some(earlier) => earlier.add(&total)?,
            None => total,
        })
    }

    fn exchange(&self, comm: &dyn Comm, own: Tensor) -> Result<Tensor> {
        let Some((&first, others)) = self.ranks.split_first() else {
            return Ok(own);
        };
        if comm.rank() != first {
            comm.send(&own, first, TIED)?;
            return comm.receive(first, TIED)?.to_device(&own.device());
        }
        let mut total = own;
        for &rank in others {
            let theirs = comm.receive(rank, TIED)?;
            total = total.add(&theirs.to_device(&total.device())?)?;
        }
        for &rank in others {
            comm.send(&total, rank, TIED)?;
        }
        Ok(total)
    }
}
