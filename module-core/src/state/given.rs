//! Values given by key for the tensors of a module, checked before they are set.

use std::collections::HashMap;

use super::diff::has_same_values;
use super::entries::StateTensor;
use crate::error::suggest;
use crate::module::walk::{join, modules};
use crate::module::{Buffer, ExtraState, IdMap, Module, Parameter, Visitor, Walk};
use crate::{Mismatch, Result, Tensor, ValueProblems};

/// A tensor of a module, under the first of its names, with its given value.
pub(crate) struct Held<'m> {
    pub(crate) key: String,
    pub(crate) tensor: StateTensor<'m>,
    pub(crate) given: Option<Tensor>,
}

/// Every parameter, buffer and extra state of a module, each once, with the value given for it under any of its names.
///
/// All keys must be the module's, and so must all shapes except those of extra states; a tied tensor has one value. If
/// `strict`, every parameter and buffer must be given, as in PyTorch.
pub(crate) fn resolve<'m>(
    op: &'static str,
    root: &'m dyn Module,
    given: Vec<(String, Tensor)>,
    strict: bool,
) -> Result<Vec<Held<'m>>> {
    let Named {
        mut held, names, ..
    } = Named::of(root);
    let mut problems = ValueProblems {
        op,
        module: root.kind(),
        ..Default::default()
    };
    // The name under which each tensor was first given.
    let mut first: HashMap<usize, String> = HashMap::new();
    for (key, value) in given {
        let Some(&place) = names.get(&key) else {
            let meant = suggest(&key, names.keys().map(String::as_str));
            problems.unexpected.push((key, meant));
            continue;
        };
        let Some(own) = held.get_mut(place) else {
            continue;
        };
        let expected = own.tensor.value().shape().clone();
        if value.shape() != &expected && !matches!(own.tensor, StateTensor::Extra(_)) {
            let found = value.shape().clone();
            problems.mismatched.push(Mismatch {
                key,
                found,
                expected,
            });
            continue;
        }
        match (&own.given, first.get(&place)) {
            (Some(_), Some(other)) if *other == key => problems.repeated.push(key),
            (Some(other), Some(name)) => {
                if !is_one_value(other, &value)? {
                    problems.untied.push((name.clone(), key));
                }
            }
            _ => {
                own.given = Some(value);
                first.insert(place, key);
            }
        }
    }
    if strict {
        let is_missing = |held: &&Held<'_>| {
            held.given.is_none() && !matches!(held.tensor, StateTensor::Extra(_))
        };
        let missing = held.iter().filter(is_missing);
        problems.missing = missing.map(|held| held.key.clone()).collect();
        // A tensor with a wrong shape is reported once.
        let came = |key: &String| problems.mismatched.iter().any(|other| other.key == *key);
        problems.missing.retain(|key| !came(key));
    }
    problems.check()?;
    Ok(held)
}

/// Whether two tensors are the same in the graph or, without a graph, have the same values.
fn is_one_value(a: &Tensor, b: &Tensor) -> Result<bool> {
    let is_one = a.storage().is_same(b.storage()) && a.layout() == b.layout();
    match (a.graph_node(), b.graph_node()) {
        (None, None) => Ok(is_one || has_same_values(a, b)?),
        // A view of the same elements may belong to another node.
        (own, other) => Ok(is_one && own == other),
    }
}

/// The tensors of a tree with all their names.
#[derive(Default)]
struct Named<'m> {
    held: Vec<Held<'m>>,
    /// The index in `held` of each name.
    names: HashMap<String, usize>,
    places: IdMap<crate::TensorId, usize>,
    path: String,
}

impl<'m> Named<'m> {
    fn of(root: &'m dyn Module) -> Self {
        let mut named = Self::default();
        for (path, module) in modules(root, &Walk::new().remove_duplicate(false)) {
            named.path = path;
            module.visit(&mut named);
        }
        named
    }

    fn add(&mut self, name: &str, tensor: StateTensor<'m>) {
        let key = join(&self.path, name);
        let place = *self.places.entry(tensor.id()).or_insert(self.held.len());
        if place == self.held.len() {
            self.held.push(Held {
                key: key.clone(),
                tensor,
                given: None,
            });
        }
        self.names.entry(key).or_insert(place);
    }
}

impl<'m> Visitor<'m> for Named<'m> {
    fn parameter(&mut self, name: &str, parameter: &'m Parameter) {
        self.add(name, StateTensor::Parameter(parameter));
    }

    fn buffer(&mut self, name: &str, buffer: &'m Buffer) {
        self.add(name, StateTensor::Buffer(buffer));
    }

    fn extra_state(&mut self, state: &'m ExtraState) {
        self.add(ExtraState::KEY, StateTensor::Extra(state));
    }
}
