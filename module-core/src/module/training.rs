use std::sync::atomic::{AtomicBool, Ordering};

use super::{Field, FieldRole, Visitor, VisitorMut};

/// The mode flag of a module whose forward pass differs between training and evaluation.
///
/// A new flag is in training mode. [`ModuleExt::train`](crate::ModuleExt::train) and
/// [`eval`](crate::ModuleExt::eval) set every flag of a tree.
///
/// # Example
///
/// ```
/// let training = module_core::Training::new();
/// assert!(training.is_training());
/// ```
#[derive(Debug)]
pub struct Training(AtomicBool);

impl Training {
    /// A flag in training mode, as PyTorch's modules start.
    pub const fn new() -> Self {
        Self(AtomicBool::new(true))
    }

    /// Whether the module is in training mode.
    pub fn is_training(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Sets the mode of this one flag.
    pub fn set(&self, training: bool) {
        self.0.store(training, Ordering::Relaxed);
    }
}

impl Default for Training {
    fn default() -> Self {
        Self::new()
    }
}

#[diagnostic::do_not_recommend]
impl Field for Training {
    const ROLE: FieldRole = FieldRole::Training;

    fn visit_field<'a>(&'a self, _name: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.training(self);
    }

    fn visit_field_mut<'a>(&'a mut self, _name: &str, _visitor: &mut dyn VisitorMut<'a>) {}
}
