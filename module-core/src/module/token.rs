//! Tokens that tell a module from another one placed at the same address later.

use std::any::Any;
use std::num::NonZeroU64;
use std::sync::Weak;

use super::{Buffer, ExtraState, Marker, Module, Parameter, TensorId, Training, Visitor};

/// The number of a mode flag or a marker, or a tensor, of a module.
///
/// A tensor's address serves as a token because the weak handle keeps it from being reused.
#[derive(Clone, Debug)]
pub(crate) enum Token {
    Number(NonZeroU64),
    Tensor(TensorId, #[allow(dead_code)] Weak<dyn Any + Send + Sync>),
    /// The module and its descendants hold neither.
    None,
}

impl Token {
    /// The token of a module, by which its registered hooks recognize it.
    pub(crate) fn of(module: &dyn Module) -> Self {
        match Found::in_tree(module) {
            Some(Found::Training(flag)) => Self::Number(flag.assign_number()),
            Some(Found::Marker(marker)) => Self::Number(marker.assign_number()),
            Some(Found::Tensor(id, tensor)) => Self::Tensor(id, tensor.downgrade()),
            None => Self::None,
        }
    }

    /// Whether it is the module's token; does not make one.
    pub(crate) fn is_of(&self, module: &dyn Module) -> bool {
        match (self, Found::in_tree(module)) {
            (Self::Number(number), Some(Found::Training(flag))) => flag.number() == Some(*number),
            (Self::Number(number), Some(Found::Marker(marker))) => marker.number() == Some(*number),
            (Self::Tensor(own, _), Some(Found::Tensor(id, _))) => *own == id,
            (Self::None, None) => true,
            _ => false,
        }
    }
}

impl PartialEq for Token {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a == b,
            (Self::Tensor(a, _), Self::Tensor(b, _)) => a == b,
            (Self::None, Self::None) => true,
            _ => false,
        }
    }
}

/// The mark that distinguishes a module from others.
enum Found<'a> {
    Training(&'a Training),
    Marker(&'a Marker),
    Tensor(TensorId, HeldTensor<'a>),
}

enum HeldTensor<'a> {
    Parameter(&'a Parameter),
    Buffer(&'a Buffer),
    Extra(&'a ExtraState),
}

impl HeldTensor<'_> {
    fn downgrade(&self) -> Weak<dyn Any + Send + Sync> {
        match self {
            Self::Parameter(parameter) => parameter.weak(),
            Self::Buffer(buffer) => buffer.weak(),
            Self::Extra(state) => state.weak(),
        }
    }
}

impl<'a> Found<'a> {
    /// The first in the module itself, a flag or a marker before tensors, which may be tied; otherwise in its descendants.
    fn in_tree(module: &'a dyn Module) -> Option<Self> {
        let mut members = TokenVisitor::default();
        module.visit(&mut members);
        let own = members.flag.or(members.tensor);
        own.or_else(|| members.children.into_iter().find_map(Self::in_tree))
    }
}

#[derive(Default)]
struct TokenVisitor<'a> {
    flag: Option<Found<'a>>,
    tensor: Option<Found<'a>>,
    children: smallvec::SmallVec<[&'a dyn Module; 4]>,
}

impl<'a> Visitor<'a> for TokenVisitor<'a> {
    fn parameter(&mut self, _name: &str, parameter: &'a Parameter) {
        let held = HeldTensor::Parameter(parameter);
        self.tensor
            .get_or_insert_with(|| Found::Tensor(parameter.id(), held));
    }

    fn buffer(&mut self, _name: &str, buffer: &'a Buffer) {
        let held = HeldTensor::Buffer(buffer);
        self.tensor
            .get_or_insert_with(|| Found::Tensor(buffer.id(), held));
    }

    fn extra_state(&mut self, state: &'a ExtraState) {
        let held = HeldTensor::Extra(state);
        self.tensor
            .get_or_insert_with(|| Found::Tensor(state.id(), held));
    }

    fn training(&mut self, flag: &'a Training) {
        self.flag.get_or_insert(Found::Training(flag));
    }

    fn marker(&mut self, marker: &'a Marker) {
        self.flag.get_or_insert(Found::Marker(marker));
    }

    fn module(&mut self, _name: &str, module: &'a dyn Module) {
        if self.flag.is_none() && self.tensor.is_none() {
            self.children.push(module);
        }
    }
}
