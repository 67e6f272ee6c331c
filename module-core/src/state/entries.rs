use std::collections::{HashMap, HashSet};

use super::StateDict;
use crate::module::{Buffer, Module, Parameter, TensorId, Visitor, walk::join};
use crate::{ErrorKind, Result, Tensor};

/// What stands behind a key of a state dict.
#[derive(Clone, Copy)]
pub(super) enum Slot<'a> {
    Parameter(&'a Parameter),
    Buffer(&'a Buffer),
}

impl Slot<'_> {
    pub(super) fn value(self) -> Tensor {
        match self {
            Self::Parameter(parameter) => parameter.detach(),
            Self::Buffer(buffer) => buffer.tensor(),
        }
    }

    pub(super) fn id(self) -> TensorId {
        match self {
            Self::Parameter(parameter) => parameter.id(),
            Self::Buffer(buffer) => buffer.id(),
        }
    }

    /// Replaces the value by one of the same shape and dtype; the gradient stays.
    pub(super) fn replace(self, value: Tensor) {
        match self {
            Self::Parameter(parameter) => {
                parameter.replace(value, parameter.grad());
                parameter.mark_loaded(true);
            }
            Self::Buffer(buffer) => buffer.replace(value),
        }
    }
}

/// The keys of a module with what stands behind them: its own parameters, its own persistent
/// buffers, then each child; every name of a tied tensor.
pub(super) fn entries(root: &dyn Module) -> Result<Vec<(String, Slot<'_>)>> {
    let mut entries = Vec::new();
    collect(root, "", &mut entries)?;
    let mut keys = HashSet::with_capacity(entries.len());
    for (key, _) in &entries {
        if !keys.insert(key.as_str()) {
            return Err(ErrorKind::DuplicateKey {
                key: key.clone(),
                module: root.kind(),
            }
            .into());
        }
    }
    Ok(entries)
}

/// One module's members by kind, since declaration order mixes them and the keys do not.
struct Members<'p, 'a> {
    path: &'p str,
    parameters: Vec<(String, Slot<'a>)>,
    buffers: Vec<(String, Slot<'a>)>,
    children: Vec<(String, &'a dyn Module)>,
    /// A name that is no key, which a map can have.
    invalid: Option<String>,
}

impl Members<'_, '_> {
    fn key(&mut self, name: &str) -> String {
        if name.is_empty() || name.contains('.') {
            self.invalid.get_or_insert_with(|| name.to_owned());
        }
        join(self.path, name)
    }
}

impl<'a> Visitor<'a> for Members<'_, 'a> {
    fn parameter(&mut self, name: &str, parameter: &'a Parameter) {
        let key = self.key(name);
        self.parameters.push((key, Slot::Parameter(parameter)));
    }

    fn buffer(&mut self, name: &str, buffer: &'a Buffer) {
        if buffer.is_persistent() {
            let key = self.key(name);
            self.buffers.push((key, Slot::Buffer(buffer)));
        }
    }

    fn module(&mut self, name: &str, module: &'a dyn Module) {
        let key = self.key(name);
        self.children.push((key, module));
    }
}

fn collect<'a>(
    module: &'a dyn Module,
    path: &str,
    entries: &mut Vec<(String, Slot<'a>)>,
) -> Result<()> {
    let mut members = Members {
        path,
        parameters: Vec::new(),
        buffers: Vec::new(),
        children: Vec::new(),
        invalid: None,
    };
    module.visit(&mut members);
    if let Some(key) = members.invalid {
        let op = "state_dict";
        return Err(ErrorKind::InvalidKey { op, key }.into());
    }
    entries.append(&mut members.parameters);
    entries.append(&mut members.buffers);
    for (path, child) in members.children {
        collect(child, &path, entries)?;
    }
    Ok(())
}

/// A snapshot of a module's state.
///
/// In it shared memory means a tie, by which a file is written without the second name. Tensors that
/// are not tied may share memory too, as those of two modules of which one was loaded from the
/// other's state; these get copies.
pub(crate) fn state_dict(root: &dyn Module) -> Result<StateDict> {
    let mut state = StateDict::new();
    let mut places = HashSet::new();
    let mut values: HashMap<TensorId, Tensor> = HashMap::new();
    for (key, slot) in entries(root)? {
        let value = match values.get(&slot.id()) {
            Some(value) => value.clone(),
            None => {
                let value = slot.value();
                let place = (value.storage.address(), value.layout().offset());
                if places.insert(place) {
                    value
                } else {
                    let copy = Tensor::from_host(value.to_host()?, value.shape())?;
                    copy.to_device(&value.device())?
                }
            }
        };
        values.insert(slot.id(), value.clone());
        state.insert(key, value);
    }
    Ok(state)
}
