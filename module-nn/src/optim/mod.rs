//! Optimisers: they know parameters by their paths in the model.

mod adamw;
mod error;
mod known;
mod sgd;

use module_core::{Module, ModuleExt, Result};

pub use adamw::{AdamW, AdamWConfig};
pub use error::OptimizerError;
pub use sgd::{SGD, SGDConfig};

/// Moves the parameters of a model by their gradients.
///
/// State, such as momentum, is kept under the parameter's path. A model whose parameters are not
/// those that the optimiser was built with is an error that names the paths, so that a layer that
/// was replaced afterwards cannot stay untrained unnoticed.
pub trait Optimizer {
    /// Moves every parameter that has a gradient; the gradients stay.
    ///
    /// A parameter that is paused ([`set_requires_grad(false)`](module_core::Parameter::set_requires_grad))
    /// is not moved, also where it has a gradient from before, by which PyTorch would move it; its state
    /// stays. One that is frozen ([`freeze`](module_core::Parameter::freeze)) is not moved, and its state is
    /// dropped, also that of one which was frozen and is trained again by now.
    ///
    /// # Errors
    ///
    /// Other parameters than the optimiser was built with, no gradient at all; then nothing is
    /// moved.
    fn step(&mut self, model: &dyn Module) -> Result<()>;

    /// Drops every gradient of the model: the same as `model.zero_grad()`.
    fn zero_grad(&self, model: &dyn Module) {
        model.zero_grad();
    }

    /// The learning rate.
    fn lr(&self) -> f64;

    /// Sets the learning rate, as a schedule does.
    fn set_lr(&mut self, lr: f64);
}
