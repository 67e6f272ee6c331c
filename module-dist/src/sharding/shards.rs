use std::fmt;

use module_nn::module::{Visitor, VisitorMut};
use module_nn::{Module, Parameter};

/// The parts of this rank, as a module with the paths of the model's parameters: what an optimizer of a
/// [`Sharded`](super::Sharded) model is built with.
///
/// Each part is a vector. Between the steps of [`OptimizerState`](super::ShardingStage::OptimizerState) and
/// [`Gradients`](super::ShardingStage::Gradients) the parts have no values, because the model has them.
#[derive(Default)]
pub struct Shards {
    parameters: Vec<(String, Parameter)>,
    children: Vec<(String, Shards)>,
}

impl Shards {
    /// Adds a part under a path.
    pub(super) fn insert(&mut self, path: &str, part: Parameter) {
        let Some((name, rest)) = path.split_once('.') else {
            self.parameters.push((path.to_owned(), part));
            return;
        };
        let position = self.children.iter().position(|(known, _)| known == name);
        let position = position.unwrap_or_else(|| {
            self.children.push((name.to_owned(), Self::default()));
            self.children.len() - 1
        });
        if let Some((_, child)) = self.children.get_mut(position) {
            child.insert(rest, part);
        }
    }
}

impl Module for Shards {
    fn kind(&self) -> &'static str {
        "Shards"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        for (name, part) in &self.parameters {
            visitor.parameter(name, part);
        }
        for (name, child) in &self.children {
            visitor.module(name, child);
        }
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        for (name, part) in &mut self.parameters {
            visitor.parameter(name, part);
        }
        for (name, child) in &mut self.children {
            visitor.module(name, child);
        }
    }
}

impl fmt::Debug for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let children = self.children.iter().map(|(name, child)| (name, child));
        let parameters = self
            .parameters
            .iter()
            .map(|(name, part)| (name, part.shape()));
        f.debug_struct("Shards")
            .field("parameters", &parameters.collect::<Vec<_>>())
            .field("children", &children.collect::<Vec<_>>())
            .finish()
    }
}
