//! Optimizer states of a sharded model, as one process has them.

use module_nn::Snapshot;
use module_nn::prelude::*;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use super::Sharded;
use super::member::Member;
use super::sharded::members;

/// The name under which the values of a state are read together.
const ALL: &str = "all";

impl Sharded<'_> {
    /// The state of an optimizer that was built with the [`shards`](Self::shards), as the optimizer of one process would have
    /// it, on every rank: tensors that are divided are gathered. All ranks call it.
    ///
    /// It is independent of the stage and the number of ranks, and can be loaded into an optimizer of the whole model.
    ///
    /// # Errors
    ///
    /// Those of [`Stateful::state`] and of the collectives.
    pub fn optimizer_state(&self, optimizer: &dyn Optimizer) -> Result<Snapshot> {
        let state = optimizer.state()?;
        let mut tensors = StateDict::new();
        for (key, tensor) in state.tensors() {
            let whole = match self.divided(key, tensor) {
                Some(member) => member.division.whole(&self.core.comm.all_gather(tensor)?)?,
                None => tensor.clone(),
            };
            tensors.insert(key, whole);
        }
        with_values_of(tensors, &state)
    }

    /// Loads the state that [`optimizer_state`](Self::optimizer_state) returned, or that an optimizer of the whole model has
    /// saved, into one that was built with the [`shards`](Self::shards).
    ///
    /// # Errors
    ///
    /// Those of [`Stateful::load_state`]; then nothing is changed on this rank.
    pub fn load_optimizer_state(
        &self,
        optimizer: &mut dyn Optimizer,
        state: &Snapshot,
    ) -> Result<()> {
        let mut tensors = StateDict::new();
        for (key, whole) in state.tensors() {
            let member = self.member_of(key);
            let part = match member.filter(|member| *whole.shape() == member.division.shape) {
                Some(member) => member.division.part(whole, self.core.comm.rank())?,
                None => whole.clone(),
            };
            tensors.insert(key, part);
        }
        optimizer.load_state(&with_values_of(tensors, state)?)
    }

    /// The parameter whose state has this key.
    pub(super) fn member_of(&self, key: &str) -> Option<&Member> {
        let (path, _) = key.rsplit_once('.')?;
        members(&self.core).find(|member| member.path == path)
    }

    /// The parameter that a tensor of an optimizer's state is divided like, if it is: parts are vectors, and the numbers that
    /// optimizers keep for a parameter as a whole have no dimensions.
    pub(super) fn divided(&self, key: &str, tensor: &Tensor) -> Option<&Member> {
        let member = self.member_of(key)?;
        let is_part = **tensor.shape() == [member.division.part_len()];
        is_part.then_some(member)
    }
}

/// A state with these tensors and the values of another one.
pub(super) fn with_values_of(tensors: StateDict, state: &Snapshot) -> Result<Snapshot> {
    // A nested state's values are one value, which can be read without knowing their names.
    let nested = Snapshot::default().with_nested(ALL, state)?;
    let values: BTreeMap<String, Box<RawValue>> = nested.get(ALL)?;
    let mut with_values = Snapshot::new(tensors);
    for (name, value) in &values {
        with_values = with_values.with(name, value)?;
    }
    Ok(with_values)
}
