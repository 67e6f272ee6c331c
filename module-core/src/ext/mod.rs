//! What users call on every module: one trait, so that one import brings it.
//!
//! Its methods for the state (`state_methods.rs`) and for hooks (`hook_methods.rs`) are written by macros without arguments, because
//! a trait has one body; they use the imports of this file.

mod functional_call;
mod hook_methods;
mod state_methods;

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
use self::state_methods::state_methods;

pub use self::functional_call::{FunctionalCall, functional_call};

/// Everything that PyTorch's `nn.Module` offers on a module besides calling it.
///
/// It comes with every [`Module`], also as `&dyn Module`. Walks are in declaration order with
/// PyTorch's rules for duplicates; whatever can fail leaves the module as it was.
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
    /// The direct children, each once.
    fn children(&self) -> impl Iterator<Item = &dyn Module> {
        walk::children(self.as_module()).into_iter().map(second)
    }

    /// The direct children with their names, each once.
    fn named_children(&self) -> impl Iterator<Item = (String, &dyn Module)> {
        walk::children(self.as_module()).into_iter()
    }

    /// This module and all below it, each once.
    fn modules(&self) -> impl Iterator<Item = &dyn Module> {
        self.named_modules().map(second)
    }

    /// This module, under the empty name, and all below it with their paths, each once.
    fn named_modules(&self) -> impl Iterator<Item = (String, &dyn Module)> {
        self.named_modules_with(Walk::new())
    }

    /// [`named_modules`](Self::named_modules) by another walk.
    fn named_modules_with(&self, walk: Walk) -> impl Iterator<Item = (String, &dyn Module)> {
        walk::modules(self.as_module(), &walk).into_iter()
    }

    /// The parameters of the tree, each once.
    fn parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.named_parameters().map(second)
    }

    /// The parameters of the tree with their paths, each under its first one.
    fn named_parameters(&self) -> impl Iterator<Item = (String, &Parameter)> {
        self.named_parameters_with(Walk::new())
    }

    /// [`named_parameters`](Self::named_parameters) by another walk.
    fn named_parameters_with(&self, walk: Walk) -> impl Iterator<Item = (String, &Parameter)> {
        walk::parameters(self.as_module(), &walk).into_iter()
    }

    /// The buffers of the tree, each once, persistent or not.
    fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        self.named_buffers().map(second)
    }

    /// The buffers of the tree with their paths, each under its first one.
    fn named_buffers(&self) -> impl Iterator<Item = (String, &Buffer)> {
        self.named_buffers_with(Walk::new())
    }

    /// [`named_buffers`](Self::named_buffers) by another walk.
    fn named_buffers_with(&self, walk: Walk) -> impl Iterator<Item = (String, &Buffer)> {
        walk::buffers(self.as_module(), &walk).into_iter()
    }

    /// The module at a dotted path; the empty path is this module.
    ///
    /// # Errors
    ///
    /// A step that is no member, with the nearest name, or that is no module.
    fn get_submodule(&self, path: &str) -> Result<&dyn Module> {
        path::submodule(self.as_module(), path)
    }

    /// [`get_submodule`](Self::get_submodule) with exclusive access.
    ///
    /// # Errors
    ///
    /// As [`get_submodule`](Self::get_submodule), and a module behind an `Arc` that is shared.
    fn get_submodule_mut(&mut self, path: &str) -> Result<&mut dyn Module> {
        path::submodule_mut(self.as_module_mut(), path)
    }

    /// The parameter at a dotted path.
    ///
    /// # Errors
    ///
    /// A step that is no member, with the nearest name, or a path to something else.
    fn get_parameter(&self, path: &str) -> Result<&Parameter> {
        path::parameter(self.as_module(), path)
    }

    /// The buffer at a dotted path.
    ///
    /// # Errors
    ///
    /// As [`get_parameter`](Self::get_parameter).
    fn get_buffer(&self, path: &str) -> Result<&Buffer> {
        path::buffer(self.as_module(), path)
    }

    /// Calls `f` with the path and each module, children first, then this one.
    ///
    /// # Errors
    ///
    /// A module behind an `Arc` that is shared, which nobody has exclusively; then `f` is not
    /// called at all.
    fn apply(&mut self, mut f: impl FnMut(&str, &mut dyn Module)) -> Result<()> {
        path::apply(self.as_module_mut(), &mut f)
    }

    /// Puts the whole tree into training mode.
    fn train(&self) {
        self.set_training(true);
    }

    /// Puts the whole tree into evaluation mode.
    fn eval(&self) {
        self.set_training(false);
    }

    /// Puts the whole tree into training or evaluation mode.
    fn set_training(&self, training: bool) {
        convert::set_training(self.as_module(), training);
    }

    /// Whether any part of the tree behaves as in training.
    fn is_training(&self) -> bool {
        walk::flags(self.as_module()).iter().any(is_training)
    }

    /// Pauses the training of every parameter, or lets it go on: PyTorch's `requires_grad_`.
    ///
    /// Gradients and the states of optimizers stay, and training goes on with them
    /// ([`Parameter::set_requires_grad`]). What is not to be trained any more is
    /// [frozen](Self::freeze).
    fn set_requires_grad(&self, requires_grad: bool) {
        convert::set_requires_grad(self.as_module(), requires_grad);
    }

    /// Freezes what `select` covers, and returns the paths: parameters are trained no more and lose their
    /// gradients ([`Parameter::freeze`]), and the running statistics of modules all of whose buffers are covered stand still, so
    /// that a frozen batch normalization behaves as in evaluation.
    ///
    /// [`train`](Self::train) does not undo it. An optimizer drops the state that it keeps of a frozen
    /// parameter, such as momentum; [`set_requires_grad`](Self::set_requires_grad) pauses training and keeps
    /// it. Where a tied tensor is covered under one of its names, it is frozen.
    ///
    /// # Errors
    ///
    /// An invalid pattern, a selection that matches nothing; then nothing is frozen.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::module::ConstantInit;
    /// use module_core::{ModuleExt, Parameter};
    ///
    /// let weights = [1, 2, 3].map(|size| Parameter::with_init(size, ConstantInit(0.0)));
    /// let [a, b, c] = weights;
    /// let model = vec![a?, b?, c?];
    /// assert_eq!(model.freeze(["0", "1"])?, ["0", "1"]);
    /// assert_eq!(model.num_trainable(), 3);
    /// model.unfreeze("1")?;
    /// assert_eq!(model.num_trainable(), 5);
    /// assert!(model.freeze("head").is_err());
    /// # Ok::<(), module_core::Error>(())
    /// ```
    fn freeze(&self, select: impl Into<Select>) -> Result<Vec<String>> {
        freeze::set_frozen(self.as_module(), &select.into(), true, true)
    }

    /// [`freeze`](Self::freeze) for parameters only: running statistics keep moving.
    ///
    /// # Errors
    ///
    /// As [`freeze`](Self::freeze).
    fn freeze_parameters(&self, select: impl Into<Select>) -> Result<Vec<String>> {
        freeze::set_frozen(self.as_module(), &select.into(), true, false)
    }

    /// Lets what `select` covers be trained and move again, and returns the paths.
    ///
    /// # Errors
    ///
    /// As [`freeze`](Self::freeze).
    fn unfreeze(&self, select: impl Into<Select>) -> Result<Vec<String>> {
        freeze::set_frozen(self.as_module(), &select.into(), false, true)
    }

    /// Drops every gradient.
    fn zero_grad(&self) {
        convert::zero_grad(self.as_module());
    }

    /// Casts floating-point parameters, gradients and buffers; others, such as counters, stay, and so
    /// do [`keep_dtype`](Buffer::keep_dtype) buffers.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point, not enough memory.
    fn to_dtype(&self, dtype: DType) -> Result<()> {
        convert::to_dtype(self.as_module(), dtype)
    }

    /// Moves parameters, gradients and buffers.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    fn to_device(&self, device: &Device) -> Result<()> {
        convert::to_device(self.as_module(), device)
    }

    /// Casts to `F32`, as [`to_dtype`](Self::to_dtype).
    ///
    /// # Errors
    ///
    /// Not enough memory.
    fn float(&self) -> Result<()> {
        self.to_dtype(DType::F32)
    }

    /// Casts to `F64`, as [`to_dtype`](Self::to_dtype).
    ///
    /// # Errors
    ///
    /// Not enough memory.
    fn double(&self) -> Result<()> {
        self.to_dtype(DType::F64)
    }

    /// Casts to `F16`, as [`to_dtype`](Self::to_dtype).
    ///
    /// # Errors
    ///
    /// Not enough memory.
    fn half(&self) -> Result<()> {
        self.to_dtype(DType::F16)
    }

    /// Casts to `BF16`, as [`to_dtype`](Self::to_dtype).
    ///
    /// # Errors
    ///
    /// Not enough memory.
    fn bfloat16(&self) -> Result<()> {
        self.to_dtype(DType::BF16)
    }

    /// The number of elements of all parameters, tied ones counted once.
    fn num_parameters(&self) -> usize {
        walk::numel(self.as_module(), |_| true)
    }

    /// The number of elements of the parameters that are trained, tied ones counted once.
    fn num_trainable(&self) -> usize {
        walk::numel(self.as_module(), Parameter::requires_grad)
    }

    state_methods! {}

    /// Draws every parameter of the tree anew by its own initializer, from the default generator,
    /// and gives every buffer its first value. A model made by [`deferred`](crate::deferred) gets its
    /// values by this, where it loads none.
    ///
    /// All initializers run again in the order of construction. For values that were overwritten later, only the
    /// generator is advanced. So the seed that a model was built with gives the values that it was built
    /// with. In a part of a model, or for the parameters that a partial load did not load, only their
    /// initializers run.
    ///
    /// # Errors
    ///
    /// Parameters that own no initializer, by their paths; those of the initializers. Then nothing
    /// is changed.
    fn reset_parameters(&self) -> Result<()> {
        convert::reset(self.as_module(), None, &|_| true)
    }

    /// [`reset_parameters`](Self::reset_parameters) with a generator.
    ///
    /// # Errors
    ///
    /// As [`reset_parameters`](Self::reset_parameters).
    fn reset_parameters_with(&self, generator: &Generator) -> Result<()> {
        convert::reset(self.as_module(), Some(generator), &|_| true)
    }

    /// The module tree, to be printed as PyTorch prints it.
    fn tree(&self) -> Tree<'_> {
        Tree::new(self.as_module())
    }

    hook_methods! {}
}

impl<M: Module + ?Sized> ModuleExt for M {}

// Closures in the methods above would be other types for each module, and whatever they are given to
// would be compiled for each.

fn second<A, B>((_, second): (A, B)) -> B {
    second
}

fn is_training(flag: &&Training) -> bool {
    flag.is_training()
}
