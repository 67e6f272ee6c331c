//! Boxes and shared pointers behave as the module they hold.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::{Forward, Layer, Module, ModuleId, Visitor, VisitorMut};
use crate::Result;

impl<M: Module + ?Sized> Module for Box<M> {
    fn kind(&self) -> &'static str {
        (**self).kind()
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        (**self).visit(visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        (**self).visit_mut(visitor);
    }

    fn as_module(&self) -> &dyn Module {
        (**self).as_module()
    }

    fn as_module_mut(&mut self) -> &mut dyn Module {
        (**self).as_module_mut()
    }

    fn visit_as<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        (**self).visit_as(name, visitor);
    }

    fn visit_as_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>) {
        if !(self as &dyn Any).is::<Box<dyn Layer>>() {
            return (**self).visit_as_mut(name, visitor);
        }
        let layer = (self as &'a mut dyn Any).downcast_mut::<Box<dyn Layer>>();
        if let Some(layer) = layer.and_then(|layer| visitor.layer(name, layer)) {
            (**layer).visit_as_mut(name, visitor);
        }
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).extra_repr(f)
    }

    fn id(&self) -> ModuleId {
        (**self).id()
    }
}

#[diagnostic::do_not_recommend]
impl<I, M: Forward<I> + ?Sized> Forward<I> for Box<M> {
    type Output = M::Output;

    fn forward(&self, input: I) -> Result<M::Output> {
        (**self).forward(input)
    }
}

/// An `Arc` that is used twice is one module with two paths.
impl<M: Module + ?Sized> Module for Arc<M> {
    fn kind(&self) -> &'static str {
        (**self).kind()
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        (**self).visit(visitor);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        if Self::get_mut(self).is_none() {
            visitor.shared("", (**self).as_module());
        } else if let Some(module) = Self::get_mut(self) {
            module.visit_mut(visitor);
        }
    }

    fn as_module(&self) -> &dyn Module {
        (**self).as_module()
    }

    fn as_module_mut(&mut self) -> &mut dyn Module {
        self
    }

    fn visit_as<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        (**self).visit_as(name, visitor);
    }

    fn visit_as_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>) {
        if Self::get_mut(self).is_none() {
            visitor.shared(name, (**self).as_module());
        } else if let Some(module) = Self::get_mut(self) {
            module.visit_as_mut(name, visitor);
        }
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).extra_repr(f)
    }

    fn id(&self) -> ModuleId {
        (**self).id()
    }
}

#[diagnostic::do_not_recommend]
impl<I, M: Forward<I> + ?Sized> Forward<I> for Arc<M> {
    type Output = M::Output;

    fn forward(&self, input: I) -> Result<M::Output> {
        (**self).forward(input)
    }
}
