use std::any::Any;

use module_core::module::{Visitor, VisitorMut};
use module_core::{Describe, FieldInfo, IndexMap, Module, Result, Tensor};

use super::adapters::{Adaptable, Adapters};

/// The adapters of a layer with several weights, separate for each weight: no member, no key and no cost while there are
/// none.
///
/// An adapter of a weight is added to it before the layer computes, without dropout, as with PEFT's `target_parameters`.
///
/// # State dict
///
/// Those of [`Adapters`] for each weight that has any, under `adapters` and its name:
/// `adapters.weight_ih_l0.lora_A.name.weight`.
pub(crate) struct WeightAdapters(ByWeight);

/// The adapters of every weight; only existing ones are shown.
struct ByWeight(IndexMap<String, Adapters>);

impl WeightAdapters {
    /// No adapters of the weights of these names.
    pub(crate) fn new<'n>(names: impl IntoIterator<Item = &'n str>) -> Self {
        let none = |name: &str| (name.to_owned(), Adapters::new(Adaptable::Weight));
        Self(ByWeight(names.into_iter().map(none).collect()))
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.0.values().all(Adapters::is_empty)
    }

    /// The weight of this name with its adapters added to it.
    pub(crate) fn adapted(&self, name: &str, weight: Tensor) -> Result<Tensor> {
        match self.0.0.get(name) {
            Some(adapters) => adapters.adapted_weight(weight),
            None => Ok(weight),
        }
    }

    /// Whether a module is the member that shows them.
    pub(super) fn is_member(&self, module: &dyn Module) -> bool {
        std::ptr::addr_eq(&self.0, module)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Adapters)> {
        let all = self.0.0.iter();
        all.map(|(name, adapters)| (name.as_str(), adapters))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&str, &mut Adapters)> {
        let all = self.0.0.iter_mut();
        all.map(|(name, adapters)| (name.as_str(), adapters))
    }
}

/// Written by hand, because an absent member has no key.
impl Module for WeightAdapters {
    fn kind(&self) -> &'static str {
        "WeightAdapters"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visitor.extension(self);
        if !self.is_empty() {
            visitor.module("adapters", &self.0);
        }
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        let own = visitor.extension(self).and_then(<dyn Any>::downcast_mut);
        if let Some(Self(by_weight)) = own
            && !by_weight.0.values().all(Adapters::is_empty)
        {
            visitor.module("adapters", by_weight);
        }
    }
}

impl Module for ByWeight {
    fn kind(&self) -> &'static str {
        "ModuleDict"
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        for (name, adapters) in self.0.iter().filter(|(_, held)| !held.is_empty()) {
            visitor.module(name, adapters);
        }
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        for (name, adapters) in self.0.iter_mut().filter(|(_, held)| !held.is_empty()) {
            visitor.module(name, adapters);
        }
    }
}

/// The keys are known only at run time.
impl Describe for WeightAdapters {
    const FIELDS: &'static [FieldInfo] = &[];
}
