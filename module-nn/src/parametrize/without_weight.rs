//! The members of a layer except the weight that is computed.

use std::any::Any;

use module_core::module::{Constant, Layer, Visitor, VisitorMut};
use module_core::{Buffer, ExtraState, Marker, Module, Parameter, Training};

/// The member of a layer that is computed.
pub(super) const WEIGHT: &str = "weight";

/// Shows everything but the weight.
pub(super) struct WithoutWeight<'v, 'a>(pub(super) &'v mut dyn Visitor<'a>);

impl<'a> Visitor<'a> for WithoutWeight<'_, 'a> {
    fn parameter(&mut self, name: &str, parameter: &'a Parameter) {
        if name != WEIGHT {
            self.0.parameter(name, parameter);
        }
    }

    fn buffer(&mut self, name: &str, buffer: &'a Buffer) {
        self.0.buffer(name, buffer);
    }

    fn module(&mut self, name: &str, module: &'a dyn Module) {
        self.0.module(name, module);
    }

    fn extra_state(&mut self, state: &'a ExtraState) {
        self.0.extra_state(state);
    }

    fn training(&mut self, flag: &'a Training) {
        self.0.training(flag);
    }

    fn marker(&mut self, marker: &'a Marker) {
        self.0.marker(marker);
    }

    fn constant(&mut self, name: &str, value: &'a dyn Constant) {
        self.0.constant(name, value);
    }

    fn extension(&mut self, extension: &'a dyn Any) {
        self.0.extension(extension);
    }

    fn former_keys(&mut self, keys: &[(&str, &str)]) {
        self.0.former_keys(keys);
    }
}

/// Shows everything but the weight, mutably.
pub(super) struct WithoutWeightMut<'v, 'a>(pub(super) &'v mut dyn VisitorMut<'a>);

impl<'a> VisitorMut<'a> for WithoutWeightMut<'_, 'a> {
    fn parameter(&mut self, name: &str, parameter: &'a mut Parameter) {
        if name != WEIGHT {
            self.0.parameter(name, parameter);
        }
    }

    fn buffer(&mut self, name: &str, buffer: &'a mut Buffer) {
        self.0.buffer(name, buffer);
    }

    fn module(&mut self, name: &str, module: &'a mut dyn Module) {
        self.0.module(name, module);
    }

    fn layer(
        &mut self,
        name: &str,
        layer: &'a mut Box<dyn Layer>,
    ) -> Option<&'a mut Box<dyn Layer>> {
        self.0.layer(name, layer)
    }

    fn extension(&mut self, extension: &'a mut dyn Any) -> Option<&'a mut dyn Any> {
        self.0.extension(extension)
    }

    fn shared(&mut self, name: &str, module: &'a dyn Module) {
        self.0.shared(name, module);
    }
}
