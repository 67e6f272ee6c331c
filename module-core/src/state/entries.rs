use std::collections::{HashMap, HashSet};

use super::hooks::{after_collecting, before_collecting};
use super::{StateDict, one_version};
use crate::hooks::any;
use crate::module::{Buffer, ExtraState, Module, Parameter, TensorId, Visitor, walk::join};
use crate::{Error, ErrorKind, ModuleError, Result, Tensor};

/// What stands behind a key of a state dict.
#[derive(Clone, Copy)]
pub(super) enum StateTensor<'a> {
    Parameter(&'a Parameter),
    Buffer(&'a Buffer),
    Extra(&'a ExtraState),
}

impl StateTensor<'_> {
    pub(super) fn value(self) -> Tensor {
        match self {
            Self::Parameter(parameter) => parameter.detach(),
            Self::Buffer(buffer) => buffer.tensor(),
            Self::Extra(state) => state.tensor(),
        }
    }

    pub(super) fn id(self) -> TensorId {
        match self {
            Self::Parameter(parameter) => parameter.id(),
            Self::Buffer(buffer) => buffer.id(),
            Self::Extra(state) => state.id(),
        }
    }

    /// Replaces the value by one of the same shape; the gradient stays.
    pub(super) fn load(self, value: Tensor) {
        match self {
            Self::Parameter(parameter) => {
                parameter.load(value);
                parameter.mark_loaded(true);
            }
            Self::Buffer(buffer) => buffer.replace(value),
            Self::Extra(state) => state.set(value),
        }
    }

    /// What [`restore`](Self::restore) needs to undo everything that happens from now on.
    pub(super) fn previous(self) -> Previous {
        let (grad, loaded) = match self {
            Self::Parameter(parameter) => (parameter.grad(), parameter.is_loaded()),
            Self::Buffer(_) | Self::Extra(_) => (None, false),
        };
        Previous {
            value: self.value(),
            grad,
            loaded,
        }
    }

    pub(super) fn restore(self, kept: Previous) {
        let Previous {
            value,
            grad,
            loaded,
        } = kept;
        match self {
            Self::Parameter(parameter) => {
                parameter.replace(value, grad);
                parameter.mark_loaded(loaded);
            }
            Self::Buffer(buffer) => buffer.replace(value),
            Self::Extra(state) => state.set(value),
        }
    }
}

/// What a tensor of a state dict held.
pub(super) struct Previous {
    value: Tensor,
    grad: Option<Tensor>,
    loaded: bool,
}

/// A key with what stands behind it and the module to which that belongs.
pub(super) struct Entry<'a> {
    pub(super) key: String,
    pub(super) tensor: StateTensor<'a>,
    pub(super) owner: &'a dyn Module,
}

/// The keys of a module with what stands behind them: its own parameters, its own persistent
/// buffers, its extra state, then each child; every name of a tied tensor.
pub(super) fn entries(root: &dyn Module) -> Result<Vec<Entry<'_>>> {
    let mut entries = Vec::new();
    collect(root, "", &mut entries)?;
    let mut keys = HashSet::with_capacity(entries.len());
    for Entry { key, .. } in &entries {
        if !keys.insert(key.as_str()) {
            return Err(duplicate_error(root, key.clone()));
        }
    }
    Ok(entries)
}

fn duplicate_error(root: &dyn Module, key: String) -> Error {
    let module = root.kind();
    ModuleError::DuplicateKey { key, module }.into()
}

/// One module's members by kind, since declaration order mixes them and the keys do not.
struct MembersByKind<'p, 'a> {
    path: &'p str,
    parameters: Vec<(String, StateTensor<'a>)>,
    buffers: Vec<(String, StateTensor<'a>)>,
    extra: Vec<(String, StateTensor<'a>)>,
    children: Vec<(String, &'a dyn Module)>,
    /// A name that is no key, which a map can have.
    invalid: Option<String>,
}

impl<'p, 'a> MembersByKind<'p, 'a> {
    fn of(module: &'a dyn Module, path: &'p str) -> Result<Self> {
        let mut members = Self {
            path,
            parameters: Vec::new(),
            buffers: Vec::new(),
            extra: Vec::new(),
            children: Vec::new(),
            invalid: None,
        };
        module.visit(&mut members);
        match members.invalid {
            Some(key) => {
                let op = "state_dict";
                Err(ModuleError::InvalidKey { op, key }.into())
            }
            None => Ok(members),
        }
    }

    fn key(&mut self, name: &str) -> String {
        if name.is_empty() || name.contains('.') {
            self.invalid.get_or_insert_with(|| name.to_owned());
        }
        join(self.path, name)
    }

    /// The keys of the module itself; only its children remain.
    fn take_own(&mut self) -> impl Iterator<Item = (String, StateTensor<'a>)> + use<'a> {
        let lists = [&mut self.parameters, &mut self.buffers, &mut self.extra];
        lists.map(std::mem::take).into_iter().flatten()
    }
}

impl<'a> Visitor<'a> for MembersByKind<'_, 'a> {
    fn parameter(&mut self, name: &str, parameter: &'a Parameter) {
        let key = self.key(name);
        self.parameters
            .push((key, StateTensor::Parameter(parameter)));
    }

    fn buffer(&mut self, name: &str, buffer: &'a Buffer) {
        if buffer.is_persistent() {
            let key = self.key(name);
            self.buffers.push((key, StateTensor::Buffer(buffer)));
        }
    }

    fn extra_state(&mut self, state: &'a ExtraState) {
        let key = self.key(ExtraState::KEY);
        self.extra.push((key, StateTensor::Extra(state)));
    }

    fn module(&mut self, name: &str, module: &'a dyn Module) {
        let key = self.key(name);
        self.children.push((key, module));
    }
}

fn collect<'a>(module: &'a dyn Module, path: &str, entries: &mut Vec<Entry<'a>>) -> Result<()> {
    let mut members = MembersByKind::of(module, path)?;
    entries.extend(members.take_own().map(|(key, tensor)| Entry {
        key,
        tensor,
        owner: module,
    }));
    for (path, child) in members.children {
        collect(child, &path, entries)?;
    }
    Ok(())
}

/// A snapshot of a module's state, which no load of another thread has changed in part.
pub(crate) fn state_dict(root: &dyn Module) -> Result<StateDict> {
    let mut entries = Vec::new();
    collect(root, "", &mut entries)?;
    let now = one_version::read(|| -> Vec<Tensor> {
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
    if any() {
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
/// In it shared memory means a tie, by which a file is written without the second name. Tensors that
/// are not tied may share memory too, as those of two modules of which one was loaded from the
/// other's state; these get copies.
struct StateDictBuilder<'a> {
    root: &'a dyn Module,
    state: StateDict,
    /// The memory of the tensors so far.
    places: HashSet<(usize, usize)>,
    values: HashMap<TensorId, Tensor>,
    /// The values that there were at the start, all of one time. Empty once a pre-hook has run, which
    /// may have changed the module: what follows is read when its turn comes.
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
        let values = one_version::read(|| -> Vec<Tensor> {
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

    /// The value, copied if a tensor that is not tied to it lies in the same memory.
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
