//! Shared by the accepted cases: tensors to fill fields with, and a visitor that lists what registered.

#![allow(dead_code)]

use std::fmt;

use module_nn::module::{Constant, Visitor, VisitorMut};
use module_nn::{Buffer, Identity, Linear, Maybe, Module, Parameter, Tensor, Training};

pub fn parameter() -> Parameter {
    Parameter::new(Tensor::from(1.0_f32)).unwrap()
}

pub fn buffer() -> Buffer {
    Buffer::new(Tensor::from(1.0_f32))
}

pub fn absent() -> Maybe<Parameter> {
    Maybe::Absent
}

pub fn linear() -> Linear {
    Linear::new(2, 3).unwrap()
}

pub fn identity() -> Identity {
    Identity::new()
}

/// Everything that a module and its descendants register: `weight`, `[running_mean]` for a buffer, `fc: Linear` for a
/// child, `<training>`, `eps=1e-05`.
pub fn shown(module: &dyn Module) -> Vec<String> {
    let mut show = Show {
        prefix: String::new(),
        lines: Vec::new(),
    };
    module.visit(&mut show);
    show.lines
}

/// The same through exclusive access, which shows parameters, buffers and children.
pub fn shown_mut(module: &mut dyn Module) -> Vec<String> {
    let mut show = Show {
        prefix: String::new(),
        lines: Vec::new(),
    };
    module.visit_mut(&mut show);
    show.lines
}

/// Asserts which members register, through shared and exclusive access.
#[track_caller]
pub fn assert_shown(module: &mut dyn Module, expected: &[&str]) {
    assert_eq!(shown(module), expected);
    let state: Vec<_> = expected
        .iter()
        .filter(|line| !line.contains('=') && !line.contains('<'))
        .collect();
    assert_eq!(
        shown_mut(module).iter().collect::<Vec<_>>(),
        state.iter().map(|line| **line).collect::<Vec<_>>()
    );
}

struct Show {
    prefix: String,
    lines: Vec<String>,
}

struct Value<'a>(&'a dyn Constant);

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a> Visitor<'a> for Show {
    fn parameter(&mut self, name: &str, _: &'a Parameter) {
        self.lines.push(format!("{}{name}", self.prefix));
    }

    fn buffer(&mut self, name: &str, _: &'a Buffer) {
        self.lines.push(format!("[{}{name}]", self.prefix));
    }

    fn module(&mut self, name: &str, module: &'a dyn Module) {
        self.lines
            .push(format!("{}{name}: {}", self.prefix, module.kind()));
        let outer = self.prefix.clone();
        self.prefix = format!("{outer}{name}.");
        module.visit(self);
        self.prefix = outer;
    }

    fn training(&mut self, _: &'a Training) {
        self.lines.push(format!("{}<training>", self.prefix));
    }

    fn constant(&mut self, name: &str, value: &'a dyn Constant) {
        self.lines
            .push(format!("{}{name}={}", self.prefix, Value(value)));
    }
}

impl<'a> VisitorMut<'a> for Show {
    fn parameter(&mut self, name: &str, _: &'a mut Parameter) {
        self.lines.push(format!("{}{name}", self.prefix));
    }

    fn buffer(&mut self, name: &str, _: &'a mut Buffer) {
        self.lines.push(format!("[{}{name}]", self.prefix));
    }

    fn module(&mut self, name: &str, module: &'a mut dyn Module) {
        // For exclusive access, an enum shows itself, so that its variant can be replaced.
        self.lines.push(format!(
            "{}{name}: {}",
            self.prefix,
            module.as_module().kind()
        ));
        let outer = self.prefix.clone();
        self.prefix = format!("{outer}{name}.");
        module.visit_mut(self);
        self.prefix = outer;
    }
}
