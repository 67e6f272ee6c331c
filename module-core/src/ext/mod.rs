//! The methods that users call on every module: one trait, so that one import is enough.
//!
//! Its methods for parts (`walk_methods.rs`), training (`mode_methods.rs`), state (`state_methods.rs`) and hooks
//! (`hook_methods.rs`) are written by macros without arguments, because a trait has a single body; they use the imports of
//! this file.

mod functional_call;
mod hook_methods;
mod mode_methods;
mod state_methods;
mod walk_methods;

#[cfg(feature = "fs")]
use std::path::Path;

#[cfg(feature = "fs")]
use crate::checkpoint::{ReadOptions, SaveHandle};
use crate::hooks::{
    BackwardCall, BackwardPreCall, ForwardCall, ForwardPreCall, Hook, HookHandle, HookOptions,
    HookResult, Registration,
};
use crate::module::{Buffer, Module, Parameter, Training, Tree, Walk, convert, freeze, path, walk};
use crate::rng::Generator;
use crate::state::{
    self, LoadOptions, LoadReport, LoadStateDictCall, LoadStateDictPreCall, StateDict,
    StateDictCall, StateDictPreCall, SwappedState,
};
use crate::{DType, Device, Result, Select};

use self::hook_methods::hook_methods;
use self::mode_methods::mode_methods;
use self::state_methods::state_methods;
use self::walk_methods::walk_methods;

pub use self::functional_call::{FunctionalCall, functional_call};

/// The methods of PyTorch's `nn.Module`, except calling it.
///
/// Every [`Module`] has them, also as `&dyn Module`. Walks are in declaration order with PyTorch's rules for duplicates; if
/// a method fails, the model is unchanged.
///
/// # Example
///
/// ```
/// use module_core::{Buffer, Module, ModuleExt, Parameter, Tensor};
///
/// #[derive(Module)]
/// struct Scale {
///     weight: Parameter,
///     calls: Buffer,
/// }
///
/// let scale = Scale {
///     weight: Parameter::new(Tensor::from([1.0_f32, 2.0]))?,
///     calls: Buffer::new(Tensor::from(0_i64)),
/// };
/// assert_eq!(scale.num_parameters(), 2);
/// assert_eq!(scale.state_dict()?.keys().collect::<Vec<_>>(), ["weight", "calls"]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait ModuleExt: Module {
    walk_methods! {}

    mode_methods! {}

    state_methods! {}

    /// Redraws every parameter of the tree with its own initializer, from the default generator, and resets every buffer to
    /// its initial value. A model made by [`deferred`](crate::deferred) gets its values this way if it does not load them.
    ///
    /// All initializers run again in the order of construction. For values that were overwritten later, only the generator
    /// is advanced. So the seed that a model was built with reproduces its initial values. For a part of a model, or for
    /// the parameters that a partial load left out, only their initializers run.
    ///
    /// # Errors
    ///
    /// Parameters without an initializer, by their paths; those of the initializers. Then nothing is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::module::ConstantInit;
    /// use module_core::{ModuleExt, Parameter, Tensor};
    ///
    /// let net = vec![Parameter::with_init(2, ConstantInit(0.5))?];
    /// net[0].set(Tensor::from([1.0_f32, 2.0]))?;
    /// net.reset_parameters()?;
    /// assert_eq!(net[0].tensor().to_vec::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    fn reset_parameters(&self) -> Result<()> {
        convert::reset(self.as_module(), None, &|_| true)
    }

    /// [`reset_parameters`](Self::reset_parameters) with a generator.
    ///
    /// # Errors
    ///
    /// Those of [`reset_parameters`](Self::reset_parameters).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::module::ConstantInit;
    /// use module_core::{Generator, ModuleExt, Parameter, Tensor};
    ///
    /// let net = vec![Parameter::with_init(2, ConstantInit(0.5))?];
    /// net[0].set(Tensor::from([1.0_f32, 2.0]))?;
    /// net.reset_parameters_with(&Generator::new(0))?;
    /// assert_eq!(net[0].tensor().to_vec::<f32>()?, [0.5, 0.5]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    fn reset_parameters_with(&self, generator: &Generator) -> Result<()> {
        convert::reset(self.as_module(), Some(generator), &|_| true)
    }

    /// The module tree, which prints as in PyTorch.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Identity, ModuleExt, Sequential};
    ///
    /// let net = Sequential::new().push(Identity::new());
    /// assert_eq!(net.tree().to_string(), "Sequential(\n  (0): Identity()\n)");
    /// ```
    fn tree(&self) -> Tree<'_> {
        Tree::new(self.as_module())
    }

    hook_methods! {}
}

impl<M: Module + ?Sized> ModuleExt for M {}

// Closures in the methods above would have a different type for each module, and the functions that take them would be
// compiled for each.

fn second<A, B>((_, second): (A, B)) -> B {
    second
}

fn is_training(flag: &&Training) -> bool {
    flag.is_training()
}
