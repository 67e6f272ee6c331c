//! The members that an adapter adds to a layer.

use std::fmt;

use module_core::module::{Repr, Visitor, VisitorMut};
use module_core::{Bias, Buffer, Maybe, Module, Parameter, Result, Tensor, Training};

/// One of the two factors: a layer without a bias, with PEFT's names and printed form.
pub(super) struct Factor {
    pub(super) kind: &'static str,
    pub(super) repr: String,
    pub(super) weight: Parameter,
}

/// The dropout before the first factor, which follows the mode of the model.
pub(super) struct AdapterDropout {
    pub(super) p: f64,
    pub(super) training: Training,
}

/// DoRA's magnitudes of the weight's rows.
#[derive(Module)]
pub(super) struct Magnitude {
    pub(super) weight: Parameter,
}

/// A copy of a layer's own parameters that replaces them.
pub(super) struct SavedCopy {
    pub(super) kind: &'static str,
    pub(super) weight: Parameter,
    pub(super) bias: Bias,
}

/// The values that unmerging an adapter needs. They are saved, so that a merged weight is not loaded next to an
/// unmerged adapter.
#[derive(Module)]
pub(super) struct Merged {
    /// The scale of the product.
    pub(super) scale: Buffer,
    /// The lengths that DoRA divided by.
    pub(super) weight_norm: Maybe<Buffer>,
    /// The layer's own parameters, if a copy replaced them.
    pub(super) weight: Maybe<Buffer>,
    pub(super) bias: Maybe<Buffer>,
}

impl AdapterDropout {
    /// Whether dropout is currently active.
    pub(super) fn drops(&self) -> bool {
        self.p > 0.0 && self.training.is_training()
    }

    pub(super) fn forward(&self, input: Tensor) -> Result<Tensor> {
        match self.drops() {
            true => input.dropout(self.p),
            false => Ok(input),
        }
    }
}

impl Module for Factor {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visitor.parameter("weight", &self.weight);
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        visitor.parameter("weight", &mut self.weight);
    }

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.repr)
    }
}

impl Module for AdapterDropout {
    fn kind(&self) -> &'static str {
        match self.p > 0.0 {
            true => "Dropout",
            false => "Identity",
        }
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visitor.training(&self.training);
    }

    fn visit_mut<'a>(&'a mut self, _: &mut dyn VisitorMut<'a>) {}

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.p > 0.0 {
            true => write!(f, "p={}, inplace=False", Repr(&self.p)),
            false => Ok(()),
        }
    }
}

impl Module for SavedCopy {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn visit<'a>(&'a self, visitor: &mut dyn Visitor<'a>) {
        visitor.parameter("weight", &self.weight);
        if let Maybe::Present(bias) = &self.bias {
            visitor.parameter("bias", bias);
        }
    }

    fn visit_mut<'a>(&'a mut self, visitor: &mut dyn VisitorMut<'a>) {
        visitor.parameter("weight", &mut self.weight);
        if let Maybe::Present(bias) = &mut self.bias {
            visitor.parameter("bias", bias);
        }
    }
}
