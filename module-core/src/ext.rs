//! What users call on every module.

use std::path::Path;
use std::rc::Rc;

use crate::hooks::{self, ForwardCall, ForwardPreCall, HookHandle, HookResult};
use crate::module::{Buffer, Module, Parameter, Training, Tree, Walk, convert, path, walk};
use crate::rng::{Generator, with_default};
use crate::state::{self, LoadOptions, LoadReport, StateDict};
use crate::{DType, Device, Result};

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

    /// Lets every parameter be trained, or none; freezing drops gradients.
    fn set_requires_grad(&self, requires_grad: bool) {
        convert::set_requires_grad(self.as_module(), requires_grad);
    }

    /// Drops every gradient.
    fn zero_grad(&self) {
        convert::zero_grad(self.as_module());
    }

    /// Casts floating-point parameters, gradients and buffers; others, such as counters, stay.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point, memory that is not to be had.
    fn to_dtype(&self, dtype: DType) -> Result<()> {
        convert::to_dtype(self.as_module(), dtype)
    }

    /// Moves parameters, gradients and buffers.
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    fn to_device(&self, device: &Device) -> Result<()> {
        convert::to_device(self.as_module(), device)
    }

    /// Casts to `F32`, as [`to_dtype`](Self::to_dtype).
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    fn float(&self) -> Result<()> {
        self.to_dtype(DType::F32)
    }

    /// Casts to `F64`, as [`to_dtype`](Self::to_dtype).
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    fn double(&self) -> Result<()> {
        self.to_dtype(DType::F64)
    }

    /// Casts to `F16`, as [`to_dtype`](Self::to_dtype).
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
    fn half(&self) -> Result<()> {
        self.to_dtype(DType::F16)
    }

    /// Casts to `BF16`, as [`to_dtype`](Self::to_dtype).
    ///
    /// # Errors
    ///
    /// Memory that is not to be had.
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

    /// A snapshot of every parameter and persistent buffer under PyTorch's keys.
    ///
    /// # Errors
    ///
    /// Two tensors under one key, which `flatten` can bring about; a map with a key that is empty
    /// or contains `.`.
    fn state_dict(&self) -> Result<StateDict> {
        state::state_dict(self.as_module())
    }

    /// Loads a state dict that has this module's keys and shapes exactly.
    ///
    /// # Errors
    ///
    /// Missing or unexpected keys, other shapes, ties that the values break: all of them in one
    /// error, as PyTorch words it. The module is then as it was.
    fn load_state_dict(&self, state: &StateDict) -> Result<LoadReport> {
        self.load_state_dict_with(state, LoadOptions::new())
    }

    /// [`load_state_dict`](Self::load_state_dict) with options.
    ///
    /// # Errors
    ///
    /// As [`load_state_dict`](Self::load_state_dict), less what the options allow, and a state
    /// dict of which nothing fits.
    fn load_state_dict_with(&self, state: &StateDict, options: LoadOptions) -> Result<LoadReport> {
        state::load(self.as_module(), state, &options)
    }

    /// Writes the state dict to a safetensors file, whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of [`state_dict`](Self::state_dict) and of writing the file.
    fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.state_dict()?.save(path)
    }

    /// Loads a checkpoint file that has this module's keys and shapes exactly.
    ///
    /// # Errors
    ///
    /// Those of reading the file and of [`load_state_dict`](Self::load_state_dict).
    fn load(&self, path: impl AsRef<Path>) -> Result<LoadReport> {
        self.load_with(path, LoadOptions::new())
    }

    /// [`load`](Self::load) with options.
    ///
    /// # Errors
    ///
    /// Those of reading the file and of [`load_state_dict_with`](Self::load_state_dict_with).
    fn load_with(&self, path: impl AsRef<Path>, options: LoadOptions) -> Result<LoadReport> {
        self.load_state_dict_with(&StateDict::load(path)?, options)
    }

    /// Draws every parameter of the tree anew by its own initialiser, from the default generator,
    /// and gives every buffer its first value.
    ///
    /// The parameters are drawn in the order in which they were made.
    ///
    /// # Errors
    ///
    /// Parameters that own no initialiser, by their paths; those of the initialisers. Then nothing
    /// is changed.
    fn reset_parameters(&self) -> Result<()> {
        with_default(|generator| self.reset_parameters_with(generator))
    }

    /// [`reset_parameters`](Self::reset_parameters) with a generator.
    ///
    /// # Errors
    ///
    /// As [`reset_parameters`](Self::reset_parameters).
    fn reset_parameters_with(&self, generator: &mut Generator) -> Result<()> {
        convert::reset(self.as_module(), generator)
    }

    /// The module tree, to be printed as PyTorch prints it.
    fn tree(&self) -> Tree<'_> {
        Tree::new(self.as_module())
    }

    /// Runs `hook` before every `call` of this module on this thread, until the handle is dropped.
    ///
    /// The hook may replace the input; an error of its own fails the call.
    fn register_forward_pre_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut ForwardPreCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        let hook = Rc::new(move |call: &mut ForwardPreCall<'_>| hook(call).into_result());
        hooks::register_forward_pre(self.id(), hook)
    }

    /// Runs `hook` after every `call` of this module on this thread, until the handle is dropped.
    ///
    /// The hook may replace the output; an error of its own fails the call.
    ///
    /// # Example
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    ///
    /// use module_core::{Call, Identity, ModuleExt, Tensor};
    ///
    /// let layer = Identity::new();
    /// let seen = Rc::new(Cell::new(0));
    /// let counter = seen.clone();
    /// let hook = layer.register_forward_hook(move |call| counter.set(call.inputs()[0].numel()));
    /// layer.call(Tensor::from([1.0_f32, 2.0]))?;
    /// assert_eq!(seen.get(), 2);
    /// drop(hook);
    /// layer.call(Tensor::from(1.0_f32))?;
    /// assert_eq!(seen.get(), 2);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    fn register_forward_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        let hook = Rc::new(move |call: &mut ForwardCall<'_>| hook(call).into_result());
        hooks::register_forward(self.id(), hook)
    }
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
