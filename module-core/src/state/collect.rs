//! Making the state dict of a module.

use std::collections::{HashMap, HashSet};

use super::entries::{MembersByKind, StateTensor, collect, duplicate_error};
use super::hooks::{after_collecting, before_collecting};
use super::{StateDict, values_lock};
use crate::hooks::has_hooks;
use crate::module::{Module, TensorId};
use crate::{ErrorKind, Result, Tensor};

/// A snapshot of a module's state that contains no partial load of another thread.
pub(crate) fn state_dict(root: &dyn Module) -> Result<StateDict> {
    let mut entries = Vec::new();
    collect(root, "", &mut entries)?;
    let now = values_lock::read(|| -> Vec<Tensor> {
        let values = entries.iter().map(|entry| entry.tensor.value());
        values.collect()
    });
    let now = entries.iter().zip(now);
    let mut builder = StateDictBuilder {
        root,
        state: StateDict::with_capacity(now.len()),
        places: HashSet::new(),
        values: HashMap::new(),
        now: HashMap::new(),
    };
    if has_hooks() {
        builder.now = now
            .map(|(entry, value)| (entry.tensor.id(), value))
            .collect();
        drop(entries);
        builder.module(root, "")?;
    } else {
        for (entry, value) in now {
            builder.insert(&entry.key, entry.tensor.id(), value)?;
        }
    }
    Ok(builder.state)
}

/// A state dict that is being made.
///
/// In a state dict, shared memory means a tie, and the file is written without the second name. Tensors that are not tied
/// may share memory too, such as those of two modules, one of which was loaded from the other's state; these are copied.
struct StateDictBuilder<'a> {
    root: &'a dyn Module,
    state: StateDict,
    /// The memory of the tensors so far.
    places: HashSet<(usize, usize)>,
    values: HashMap<TensorId, Tensor>,
    /// The values at the start, all from the same moment. Empty once a pre-hook has run, which may have changed the module:
    /// later values are read one at a time.
    now: HashMap<TensorId, Tensor>,
}

impl StateDictBuilder<'_> {
    /// Collects a module between its hooks.
    fn module(&mut self, module: &dyn Module, path: &str) -> Result<()> {
        if before_collecting(module, path)? {
            self.now.clear();
        }
        let mut members = MembersByKind::of(module, path)?;
        let own: Vec<_> = members.take_own().collect();
        let values = values_lock::read(|| -> Vec<Tensor> {
            let now = |tensor: &StateTensor<'_>| self.now.get(&tensor.id()).cloned();
            let values = own
                .iter()
                .map(|(_, tensor)| now(tensor).unwrap_or_else(|| tensor.value()));
            values.collect()
        });
        for ((key, tensor), value) in own.iter().zip(values) {
            self.insert(key, tensor.id(), value)?;
        }
        for (path, child) in members.children {
            self.module(child, &path)?;
        }
        after_collecting(module, path, &mut self.state)
    }

    fn insert(&mut self, key: &str, id: TensorId, value: Tensor) -> Result<()> {
        let value = match self.values.get(&id) {
            Some(value) => value.clone(),
            None => self.copy_if_shared(key, id, value)?,
        };
        match self.state.insert(key, value) {
            None => Ok(()),
            Some(_) => Err(duplicate_error(self.root, key.to_owned())),
        }
    }

    /// The value, copied if an untied tensor uses the same memory.
    fn copy_if_shared(&mut self, key: &str, id: TensorId, mut value: Tensor) -> Result<Tensor> {
        if !value.has_values() {
            let what = format!("`{key}`");
            return Err(ErrorKind::NoValues { what }.into());
        }
        let place = (value.storage().address(), value.layout().offset());
        if !self.places.insert(place) {
            let copy = Tensor::from_host(value.to_host()?, value.shape())?;
            value = copy.to_device(&value.device())?;
        }
        self.values.insert(id, value.clone());
        Ok(value)
    }
}
