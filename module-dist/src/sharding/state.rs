//! State dicts of a sharded model.

use std::collections::HashMap;

use module_nn::prelude::*;

use super::member::Member;
use super::sharded::members;
use super::{Sharded, ShardingError, ShardingStage};

impl Sharded<'_> {
    /// The state dict of the model, as one process has it, on every rank. All ranks call it.
    ///
    /// # Errors
    ///
    /// Those of [`ModuleExt::state_dict`] and of the collectives; [`ShardingError::NotInState`].
    pub fn state_dict(&self) -> Result<StateDict> {
        let whole = self.whole_state(|_| true)?;
        Ok(whole.unwrap_or_default())
    }

    /// [`state_dict`](Self::state_dict) on one rank, which alone needs memory for all of it; `None` on the others. All ranks
    /// call it.
    ///
    /// # Errors
    ///
    /// Those of `state_dict`.
    pub fn state_dict_on(&self, rank: usize) -> Result<Option<StateDict>> {
        self.whole_state(|own| own == rank)
    }

    fn whole_state(&self, keeps: impl Fn(usize) -> bool) -> Result<Option<StateDict>> {
        let keeps = keeps(self.core.comm.rank());
        if self.stage() < ShardingStage::Parameters {
            return keeps.then(|| self.model.state_dict()).transpose();
        }
        let mut values = HashMap::new();
        for group in &self.core.groups {
            // Dropped at once where it is not kept.
            for (member, value) in group.members.iter().zip(group.gather()?) {
                if keeps {
                    values.insert(member.parameter.id(), value);
                }
            }
        }
        match keeps {
            true => self
                .state_with(|member| values.get(&member.parameter.id()).cloned())
                .map(Some),
            false => Ok(None),
        }
    }

    /// The model's state dict, with the values that `value_of` gives for the sharded parameters; without a value, a
    /// parameter's keys are left out.
    ///
    /// It is made while each parameter has a value that takes no memory and shows where it went.
    fn state_with(&self, value_of: impl Fn(&Member) -> Option<Tensor>) -> Result<StateDict> {
        let own: Vec<&Member> = members(&self.core).collect();
        let mut marked = Vec::with_capacity(own.len());
        for member in &own {
            marked.push(Marked::new(member)?);
        }
        let state = self.model.state_dict()?;
        let rank = self.core.comm.rank();
        let mut found = vec![false; own.len()];
        let mut whole = StateDict::new();
        for (key, tensor) in &state {
            let place = marked
                .iter()
                .position(|it| it.marker.shares_memory_with(tensor));
            let Some(place) = place else {
                whole.insert(key, tensor.clone());
                continue;
            };
            found[place] = true;
            if let Some(value) = value_of(own[place]) {
                whole.insert(key, value);
            }
        }
        match found.iter().position(|found| !found) {
            None => Ok(whole),
            Some(place) => {
                let parameter = own[place].path.clone();
                Err(ShardingError::NotInState { rank, parameter }.into())
            }
        }
    }

    /// The entries of the state dict besides the parameters: persistent buffers and extra states.
    pub(super) fn state_without_parameters(&self) -> Result<StateDict> {
        self.state_with(|_| None)
    }

    /// Loads a state dict of the model, as one process saves it, strictly; each rank keeps its part. The state dict may be
    /// of a run with another stage or number of ranks.
    ///
    /// # Errors
    ///
    /// Those of [`ModuleExt::load_state_dict`]; then nothing is changed on this rank.
    pub fn load_state_dict(&self, state: &StateDict) -> Result<LoadReport> {
        self.load_state_dict_with(state, LoadOptions::default())
    }

    /// [`load_state_dict`](Self::load_state_dict) with options.
    ///
    /// # Errors
    ///
    /// Those of [`ModuleExt::load_state_dict_with`], and a dtype of the file that replaces the model's.
    pub fn load_state_dict_with(
        &self,
        state: &StateDict,
        options: LoadOptions,
    ) -> Result<LoadReport> {
        let report = self.model.load_state_dict_with(state, options)?;
        self.keep_parts()?;
        Ok(report)
    }

    /// Keeps this rank's parts of the values that were loaded into the model.
    fn keep_parts(&self) -> Result<()> {
        let rank = self.core.comm.rank();
        members(&self.core).try_for_each(|member| member.check(rank))?;
        for member in members(&self.core) {
            if self.stage() == ShardingStage::Parameters && !member.has_own_value() {
                let part = member.division.part(&member.parameter.detach(), rank)?;
                member.shard.set(part)?;
                member.release_value()?;
            }
        }
        Ok(())
    }
}

/// A parameter whose value is replaced by one element that is seen as all of them, until this is dropped.
struct Marked<'a> {
    member: &'a Member,
    marker: Tensor,
    value: Tensor,
}

impl<'a> Marked<'a> {
    fn new(member: &'a Member) -> Result<Self> {
        let parameter = &member.parameter;
        let element = Tensor::zeros((), (parameter.dtype(), &parameter.device()))?;
        let marker = element.expand(&member.division.shape)?;
        let value = parameter.detach();
        parameter.set(marker.clone())?;
        Ok(Self {
            member,
            marker,
            value,
        })
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        // It fits, as before.
        let _ = self.member.parameter.set(self.value.clone());
    }
}
