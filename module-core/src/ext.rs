//! What users call on every module.

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
    StateDictCall, StateDictPreCall,
};
use crate::{DType, Device, Result, Select};

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
    /// do [`pinned`](Buffer::pinned) buffers.
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

    /// A snapshot of every parameter and persistent buffer under PyTorch's keys.
    ///
    /// Where another thread loads a state dict meanwhile, the snapshot is from before or from after,
    /// never a mixture; a hook before collecting ([`register_state_dict_pre_hook`]) may change the
    /// module, so that what comes after such a hook is read when its turn comes. An optimizer's
    /// step, a cast, a move or a reset in another thread sets one tensor after the other, and a
    /// snapshot beside it can hold some from before and some from after.
    ///
    /// [`register_state_dict_pre_hook`]: Self::register_state_dict_pre_hook
    ///
    /// # Errors
    ///
    /// Two tensors under one key, which `flatten` can bring about; a map with a key that is empty
    /// or contains `.`; a parameter that has no values yet; an error of a hook.
    fn state_dict(&self) -> Result<StateDict> {
        state::state_dict(self.as_module())
    }

    /// Loads a state dict that has this module's keys and shapes exactly; of a tied tensor it may lack
    /// all names but one.
    ///
    /// Values are cast to the dtype that they replace; gradients, modes and ties stay. A hook that fails
    /// or panics leaves the module as it was, too. All values change at once for a
    /// [`state_dict`](Self::state_dict) in another thread, but not for a call: one that runs
    /// meanwhile reads each tensor when it needs it.
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

    /// The state dict in the form that [`load_state_dict_with`](Self::load_state_dict_with) reads with
    /// these options: weights transposed by the same rule, keys turned back by [`Remap::inverse`], and
    /// of a selection only what is selected.
    ///
    /// Values have the dtypes of the module.
    ///
    /// [`Remap::inverse`]: crate::Remap::inverse
    ///
    /// # Errors
    ///
    /// Those of [`state_dict`](Self::state_dict), rules that cannot be turned back, and a key that they
    /// would not bring back as it is.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{LoadOptions, ModuleExt, Parameter, Remap, StateDict, Tensor};
    ///
    /// let model = vec![Parameter::new(Tensor::from([[0.0_f32], [0.0]]))?];
    /// let foreign = StateDict::from_iter([("module.0", Tensor::from([[1.0_f32, 2.0]]))]);
    /// let options = LoadOptions::new().remap(Remap::new().prefix("module", "")).transpose("0");
    /// println!("{}", model.load_state_dict_with(&foreign, options.clone())?);
    /// assert!(model.state_dict_as(&options)?.equal(&foreign)?);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    fn state_dict_as(&self, options: &LoadOptions) -> Result<StateDict> {
        state::state_dict_as(self.as_module(), options)
    }

    /// Writes [`state_dict_as`](Self::state_dict_as) to a safetensors file, whole or not at all: the
    /// checkpoint that [`load_with`](Self::load_with) reads with these options.
    ///
    /// # Errors
    ///
    /// Those of [`state_dict_as`](Self::state_dict_as) and of writing the file.
    #[cfg(feature = "fs")]
    fn save_as(&self, path: impl AsRef<Path>, options: &LoadOptions) -> Result<()> {
        self.state_dict_as(options)?.save(path)
    }

    /// Writes the state dict to a safetensors file, whole or not at all.
    ///
    /// # Errors
    ///
    /// Those of [`state_dict`](Self::state_dict) and of writing the file.
    #[cfg(feature = "fs")]
    fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.state_dict()?.save(path)
    }

    /// [`save`](Self::save) on another thread, while training goes on: what is written is the state as
    /// it is now.
    ///
    /// # Errors
    ///
    /// Those of [`state_dict`](Self::state_dict); [`SaveHandle::join`] has those of writing the file.
    #[cfg(feature = "fs")]
    fn save_async(&self, path: impl AsRef<Path>) -> Result<SaveHandle> {
        Ok(self.state_dict()?.save_async(path))
    }

    /// Loads a checkpoint file that has this module's keys and shapes exactly.
    ///
    /// # Errors
    ///
    /// Those of reading the file and of [`load_state_dict`](Self::load_state_dict).
    #[cfg(feature = "fs")]
    fn load(&self, path: impl AsRef<Path>) -> Result<LoadReport> {
        self.load_with(path, LoadOptions::new())
    }

    /// [`load`](Self::load) with options.
    ///
    /// # Errors
    ///
    /// Those of reading the file and of [`load_state_dict_with`](Self::load_state_dict_with).
    #[cfg(feature = "fs")]
    fn load_with(&self, path: impl AsRef<Path>, options: LoadOptions) -> Result<LoadReport> {
        let mut read = ReadOptions::new();
        if let Some(entry) = &options.entry {
            read = read.entry(entry);
        }
        self.load_state_dict_with(&StateDict::load_with(path, &read)?, options)
    }

    /// Draws every parameter of the tree anew by its own initializer, from the default generator,
    /// and gives every buffer its first value. A model made by [`deferred`](crate::deferred) gets its
    /// values by this, where it loads none.
    ///
    /// Every initializer that they were given runs again, in the order of the construction, and of those
    /// whose values were overwritten at least the generator goes on: the seed that a model was built
    /// with gives the values that it was built with. In a part of a model, or for the fresh parameters
    /// of a partial load, only theirs run.
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

    /// Runs `hook` before every `call` of this module on this thread, until the handle is dropped.
    ///
    /// The hook may replace the input; an error of its own fails the call. Hooks run in the order of
    /// registration, those of every module ([`register_module_forward_pre_hook`]) first, each with
    /// what the one before left, under the caller's grad mode. The list is read as the call starts.
    ///
    /// [`register_module_forward_pre_hook`]: crate::hooks::register_module_forward_pre_hook
    ///
    /// # Example
    ///
    /// On a part of a model, by its path:
    ///
    /// ```
    /// use module_core::{Call, Identity, ModuleExt, Sequential, Tensor};
    ///
    /// let model = Sequential::new().push(Identity::new()).push(Identity::new());
    /// let hook = model.get_submodule("1")?.register_forward_pre_hook(|call| {
    ///     let doubled = call.input()?.mul(2.0)?;
    ///     call.set_input(doubled)
    /// });
    /// assert_eq!(model.call(Tensor::from(3.0_f32))?.item::<f32>()?, 6.0);
    /// # drop(hook);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[track_caller]
    fn register_forward_pre_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut ForwardPreCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        self.register_forward_pre_hook_with(HookOptions::new(), hook)
    }

    /// [`register_forward_pre_hook`](Self::register_forward_pre_hook) with options.
    #[track_caller]
    fn register_forward_pre_hook_with<R: HookResult>(
        &self,
        options: HookOptions,
        hook: impl Fn(&mut ForwardPreCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        Registration::on(self, options).add(Hook::forward_pre(hook))
    }

    /// Runs `hook` after every `call` of this module on this thread, until the handle is dropped.
    ///
    /// The hook may replace the output; an error of its own fails the call. Order and grad mode are
    /// those of [`register_forward_pre_hook`](Self::register_forward_pre_hook); the list is read when
    /// `forward` has run.
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
    #[track_caller]
    fn register_forward_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        self.register_forward_hook_with(HookOptions::new(), hook)
    }

    /// [`register_forward_hook`](Self::register_forward_hook) with options.
    ///
    /// # Example
    ///
    /// A hook that also runs when the call fails:
    ///
    /// ```
    /// use std::{cell::Cell, rc::Rc};
    ///
    /// use module_core::hooks::HookOptions;
    /// use module_core::{Call, Forward, Marker, Module, ModuleExt, Result, Tensor};
    ///
    /// #[derive(Module)]
    /// struct First(Marker);
    ///
    /// impl Forward for First {
    ///     type Output = Tensor;
    ///
    ///     fn forward(&self, x: Tensor) -> Result<Tensor> {
    ///         x.select(0, 0)
    ///     }
    /// }
    ///
    /// let (layer, failed) = (First(Marker::new()), Rc::new(Cell::new(false)));
    /// let flag = failed.clone();
    /// let always = HookOptions::new().always_call(true);
    /// let hook = layer.register_forward_hook_with(always, move |call| flag.set(call.failed()));
    /// assert!(layer.call(Tensor::from(1.0_f32)).is_err());
    /// assert!(failed.get());
    /// # drop(hook);
    /// ```
    #[track_caller]
    fn register_forward_hook_with<R: HookResult>(
        &self,
        options: HookOptions,
        hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        Registration::on(self, options).add(Hook::forward(hook))
    }

    /// Runs `hook` whenever a backward pass reaches the outputs of a `call` that this thread makes of
    /// this module until the handle is dropped. It may replace their gradients.
    ///
    /// What happens in a backward pass is settled when the module is called: a hook that is added
    /// later does not run, one that is removed later does, once for each call and pass. It may run on
    /// another thread, so that it is `Send` and `Sync`, in the grad mode of the pass: on with
    /// `create_graph`. A call under `no_grad` is not followed.
    ///
    /// A hook that fails fails the pass, as [`ErrorKind::GradHook`](crate::ErrorKind::GradHook) with
    /// the line that registered it, and no gradient is added anywhere.
    #[track_caller]
    fn register_full_backward_pre_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
    ) -> HookHandle<'_> {
        self.register_full_backward_pre_hook_with(HookOptions::new(), hook)
    }

    /// [`register_full_backward_pre_hook`](Self::register_full_backward_pre_hook) with options.
    #[track_caller]
    fn register_full_backward_pre_hook_with<R: HookResult>(
        &self,
        options: HookOptions,
        hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
    ) -> HookHandle<'_> {
        Registration::on(self, options).add(Hook::backward_pre(hook))
    }

    /// Runs `hook` whenever a backward pass has computed the gradients of the inputs of a `call` that
    /// this thread makes of this module until the handle is dropped. It may replace them.
    ///
    /// It is settled with the call, as for
    /// [`register_full_backward_pre_hook`](Self::register_full_backward_pre_hook). Where no input is
    /// tracked, it runs once the gradients of the outputs are there, with no gradients of inputs;
    /// where the pass computes none of the inputs' gradients, it does not run.
    ///
    /// A call with such a hook refuses a tracked tensor that is borrowed (`&Tensor`): it must be put
    /// into the graph anew.
    ///
    /// # Example
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// use module_core::{Call, Forward, Marker, Module, ModuleExt, Result, Tensor};
    ///
    /// #[derive(Module)]
    /// struct Square(Marker);
    ///
    /// impl Forward for Square {
    ///     type Output = Tensor;
    ///
    ///     fn forward(&self, x: Tensor) -> Result<Tensor> {
    ///         x.mul(&x)
    ///     }
    /// }
    ///
    /// let (layer, norms) = (Square(Marker::new()), Arc::new(Mutex::new(Vec::new())));
    /// let seen = norms.clone();
    /// let hook = layer.register_full_backward_hook(move |call| {
    ///     let grads = [call.grad_outputs().remove(0), call.grad_inputs().remove(0)];
    ///     seen.lock().unwrap().extend(grads.into_iter().flatten());
    /// });
    /// let x = Tensor::from(3.0_f32).with_grad()?;
    /// layer.call(x.clone())?.mul(5.0)?.backward()?;
    /// drop(hook);
    /// let norms = norms.lock().unwrap();
    /// assert_eq!((norms[0].item::<f32>()?, norms[1].item::<f32>()?), (5.0, 30.0));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[track_caller]
    fn register_full_backward_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
    ) -> HookHandle<'_> {
        self.register_full_backward_hook_with(HookOptions::new(), hook)
    }

    /// [`register_full_backward_hook`](Self::register_full_backward_hook) with options.
    #[track_caller]
    fn register_full_backward_hook_with<R: HookResult>(
        &self,
        options: HookOptions,
        hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
    ) -> HookHandle<'_> {
        Registration::on(self, options).add(Hook::backward(hook))
    }

    /// Runs `hook` whenever a state dict of this module, or of one around it, is about to be made on
    /// this thread, until the handle is dropped. A module's own hooks run before those below it.
    fn register_state_dict_pre_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut StateDictPreCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        state::register_state_dict_pre(self, hook)
    }

    /// Runs `hook` whenever this module's part of a state dict has been made on this thread, until the
    /// handle is dropped. It may edit the part, whose keys carry the prefix; hooks of modules around
    /// this one see what it made.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{ModuleExt, Parameter, Tensor};
    ///
    /// let layers = vec![vec![Parameter::new(Tensor::from(1.0_f32))?]];
    /// let hook = layers[0].register_state_dict_post_hook(|call| {
    ///     let key = format!("{}0", call.prefix());
    ///     call.state_mut().rename(&key, "0.weight")
    /// });
    /// assert!(layers.state_dict()?.keys().eq(["0.weight"]));
    /// # drop(hook);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    fn register_state_dict_post_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut StateDictCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        state::register_state_dict_post(self, hook)
    }

    /// Runs `hook` whenever a state dict is about to be loaded into this module, or into one around
    /// it, on this thread, until the handle is dropped. It may edit the keys that start with the
    /// module's prefix, as to rename those of an older version; the caller's state dict stays.
    ///
    /// The hooks of a module run before those below it, and all before anything is loaded: an error
    /// leaves the model as it was.
    fn register_load_state_dict_pre_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut LoadStateDictPreCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        state::register_load_pre(self, hook)
    }

    /// Runs `hook` whenever a state dict has been loaded into this module, or into one around it, on
    /// this thread, until the handle is dropped. It may edit the report: what it takes out of `missing`
    /// or `unexpected` is no error.
    ///
    /// The hooks of a module run after those below it, and all after the whole tree is loaded. If one
    /// fails, or keys are still missing or unexpected and loading is strict, the model gets its old
    /// values back.
    fn register_load_state_dict_post_hook<R: HookResult>(
        &self,
        hook: impl Fn(&mut LoadStateDictCall<'_>) -> R + 'static,
    ) -> HookHandle<'_> {
        state::register_load_post(self, hook)
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
