//! The tensors of a model, each once, with all their names.

use std::collections::HashMap;

use module_core::module::Visitor;
use module_core::{Buffer, ExtraState, Module, ModuleExt, Parameter, Tensor, TensorId, Walk};

/// The role of a tensor in its model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Parameter,
    Buffer { persistent: bool },
    Extra,
}

/// A tensor of a model, or its average.
pub(super) struct Kept {
    pub(super) role: Role,
    pub(super) value: Tensor,
}

impl Kept {
    /// Whether another is the same part of a model, possibly with other values.
    fn is_like(&self, other: &Self) -> bool {
        let fits = self.role == Role::Extra || self.value.shape() == other.value.shape();
        fits && self.role == other.role
    }
}

/// The tensors of a model.
#[derive(Default)]
pub(super) struct Tensors {
    pub(super) kept: Vec<Kept>,
    /// The names in the order of a state dict, each with the index of its tensor.
    pub(super) names: Vec<(String, usize)>,
    /// The first name whose value is swapped.
    pub(super) swapped: Option<String>,
}

impl Tensors {
    /// The model's current tensors.
    pub(super) fn of(model: &dyn Module) -> Self {
        let mut tensors = Self::default();
        let mut places = HashMap::new();
        let every_name = Walk::new().remove_duplicate(false);
        for (path, module) in model.named_modules_with(every_name) {
            let mut own = Own::default();
            module.visit(&mut own);
            for found in [own.parameters, own.buffers, own.extra]
                .into_iter()
                .flatten()
            {
                tensors.add(&path, found, &mut places);
            }
        }
        tensors
    }

    fn add(&mut self, path: &str, found: Found, places: &mut HashMap<TensorId, usize>) {
        let name = match path {
            "" => found.name,
            _ => format!("{path}.{}", found.name),
        };
        if found.is_swapped && self.swapped.is_none() {
            self.swapped = Some(name.clone());
        }
        let next = self.kept.len();
        let place = found
            .id
            .map_or(next, |id| *places.entry(id).or_insert(next));
        if place == next {
            self.kept.push(found.kept);
        }
        self.names.push((name, place));
    }

    /// The names with their tensors.
    pub(super) fn named(&self) -> impl Iterator<Item = (&str, &Kept)> {
        let kept = |place: usize| self.kept.get(place);
        let names = self.names.iter();
        names.filter_map(move |(name, place)| Some((name.as_str(), kept(*place)?)))
    }

    /// The names that are not in both, or whose tensors have other shapes or are tied differently.
    pub(super) fn differences(&self, other: &Self) -> Vec<String> {
        let mut pairs = self.kept.iter().zip(&other.kept);
        if self.names == other.names && pairs.all(|(x, y)| x.is_like(y)) {
            return Vec::new();
        }
        let of =
            |tensors: &Self| -> HashMap<String, usize> { tensors.names.iter().cloned().collect() };
        let (own, others) = (of(self), of(other));
        let alike = |name: &str| {
            let (a, b) = (*own.get(name)?, *others.get(name)?);
            let first = |tensors: &Self, place| tensors.names.iter().position(|(_, p)| *p == place);
            let name_of = |tensors: &Self, place| {
                first(tensors, place)
                    .and_then(|i| tensors.names.get(i).map(|(name, _)| name.clone()))
            };
            let is_alike = self.kept.get(a)?.is_like(other.kept.get(b)?)
                && name_of(self, a) == name_of(other, b);
            is_alike.then_some(())
        };
        let mut names: Vec<&String> = own.keys().chain(others.keys()).collect();
        names.sort_unstable();
        names.dedup();
        let differing = names.into_iter().filter(|name| alike(name).is_none());
        differing.cloned().collect()
    }
}

/// A member of a module.
struct Found {
    name: String,
    id: Option<TensorId>,
    is_swapped: bool,
    kept: Kept,
}

/// The members of one module by kind, which is the order of a state dict.
#[derive(Default)]
struct Own {
    parameters: Vec<Found>,
    buffers: Vec<Found>,
    extra: Vec<Found>,
}

impl<'a> Visitor<'a> for Own {
    fn parameter(&mut self, name: &str, parameter: &'a Parameter) {
        self.parameters.push(Found {
            name: name.to_owned(),
            id: Some(parameter.id()),
            is_swapped: parameter.is_swapped(),
            kept: Kept {
                role: Role::Parameter,
                value: parameter.detach(),
            },
        });
    }

    fn buffer(&mut self, name: &str, buffer: &'a Buffer) {
        let persistent = buffer.is_persistent();
        self.buffers.push(Found {
            name: name.to_owned(),
            id: Some(buffer.id()),
            is_swapped: buffer.is_swapped(),
            kept: Kept {
                role: Role::Buffer { persistent },
                value: buffer.tensor().detach(),
            },
        });
    }

    fn extra_state(&mut self, state: &'a ExtraState) {
        self.extra.push(Found {
            name: ExtraState::KEY.to_owned(),
            id: None,
            is_swapped: false,
            kept: Kept {
                role: Role::Extra,
                value: state.tensor().detach(),
            },
        });
    }
}
