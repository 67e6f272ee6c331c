use std::collections::HashSet;

use crate::module::{Buffer, ExtraState, Module, Parameter, TensorId, Visitor, walk::join};
use crate::{Error, ModuleError, Result, Tensor};

/// The tensor or value behind a key of a state dict.
#[derive(Clone, Copy)]
pub(crate) enum StateTensor<'a> {
    Parameter(&'a Parameter),
    Buffer(&'a Buffer),
    Extra(&'a ExtraState),
}

impl StateTensor<'_> {
    pub(crate) fn value(self) -> Tensor {
        match self {
            Self::Parameter(parameter) => parameter.detach(),
            Self::Buffer(buffer) => buffer.tensor(),
            Self::Extra(state) => state.tensor(),
        }
    }

    pub(crate) fn id(self) -> TensorId {
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

    /// Replaces only the value, by a previous one or one that temporarily takes its place.
    pub(super) fn put(self, value: Tensor) {
        match self {
            Self::Parameter(parameter) => parameter.load(value),
            Self::Buffer(buffer) => buffer.replace(value),
            Self::Extra(state) => state.set(value),
        }
    }

    /// Marks the value as swapped or not, and returns the previous mark.
    pub(super) fn mark_swapped(self, swapped: bool) -> bool {
        match self {
            Self::Parameter(parameter) => parameter.mark_swapped(swapped),
            Self::Buffer(buffer) => buffer.mark_swapped(swapped),
            // It is moved with the tensors of its module.
            Self::Extra(_) => false,
        }
    }

    /// The values that [`restore`](Self::restore) needs to undo everything from now on.
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

/// The previous content of a tensor of a state dict.
pub(super) struct Previous {
    value: Tensor,
    grad: Option<Tensor>,
    loaded: bool,
}

/// A key with its entry and the module that owns it.
pub(super) struct Entry<'a> {
    pub(super) key: String,
    pub(super) tensor: StateTensor<'a>,
    pub(super) owner: &'a dyn Module,
}

/// The keys of a module with their entries: its own parameters, its own persistent buffers, its extra state, then each
/// child; every name of a tied tensor.
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

pub(super) fn duplicate_error(root: &dyn Module, key: String) -> Error {
    let module = root.kind();
    ModuleError::DuplicateKey { key, module }.into()
}

/// One module's members by kind, since declaration order mixes them and the keys do not.
pub(super) struct MembersByKind<'p, 'a> {
    path: &'p str,
    parameters: Vec<(String, StateTensor<'a>)>,
    buffers: Vec<(String, StateTensor<'a>)>,
    extra: Vec<(String, StateTensor<'a>)>,
    pub(super) children: Vec<(String, &'a dyn Module)>,
    /// An invalid key, which a map can have.
    invalid: Option<String>,
}

impl<'p, 'a> MembersByKind<'p, 'a> {
    pub(super) fn of(module: &'a dyn Module, path: &'p str) -> Result<Self> {
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

    /// Adds the keys of the module itself; only its children remain.
    pub(super) fn take_own(&mut self) -> impl Iterator<Item = (String, StateTensor<'a>)> + use<'a> {
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

/// Adds the entries of a module and all its descendants.
pub(super) fn collect<'a>(
    module: &'a dyn Module,
    path: &str,
    entries: &mut Vec<Entry<'a>>,
) -> Result<()> {
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
