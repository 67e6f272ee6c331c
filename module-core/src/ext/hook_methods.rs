//! The hooks of a module: around calls, backward passes, state dicts and loading.

/// The methods of [`ModuleExt`](super::ModuleExt) that register hooks.
macro_rules! hook_methods {
    () => {
        /// Runs `hook` before every `call` of this module on this thread, until the handle is dropped.
        ///
        /// The hook may replace the input; if it returns an error, the call fails. Hooks run in the order of registration,
        /// those of every module ([`register_module_forward_pre_hook`]) first, each on the result of the one before, under
        /// the caller's grad mode. The list is read when the call starts.
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
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Call, HookOptions, Identity, ModuleExt, Tensor};
        ///
        /// let layer = Identity::new();
        /// let _second = layer.register_forward_pre_hook(|call| call.set_inputs(vec![call.inputs()[0].mul(2.0)?]));
        /// let first = HookOptions::new().prepend(true);
        /// let _first = layer.register_forward_pre_hook_with(first, |call| call.set_inputs(vec![call.inputs()[0].add(1.0)?]));
        /// assert_eq!(layer.call(Tensor::from([1.0_f32]))?.item::<f32>()?, 4.0);
        /// # Ok::<(), module_core::Error>(())
        /// ```
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
        /// The hook may replace the output; if it returns an error, the call fails. Order and grad mode are those of
        /// [`register_forward_pre_hook`](Self::register_forward_pre_hook); the list is read after `forward` has run.
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

        /// Runs `hook` whenever a backward pass reaches the outputs of a `call` of this module on this thread made before
        /// the handle is dropped. It may replace their gradients.
        ///
        /// The hooks of a backward pass are fixed when the module is called: a hook that is added later does not run; one
        /// that is removed later still runs, once for each call and pass. It may run on another thread, so it is `Send` and
        /// `Sync`, and it runs in the grad mode of the pass: on with `create_graph`. A call under `no_grad` is not tracked.
        ///
        /// If a hook fails, the pass fails with [`AutogradError::Hook`](crate::AutogradError::Hook) and the line that
        /// registered the hook, and no gradient is added anywhere.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Call, Identity, ModuleExt, Tensor};
        ///
        /// let layer = Identity::new();
        /// let _hook = layer.register_full_backward_pre_hook(|call| {
        ///     let doubled = call.grad_outputs().into_iter().flatten().map(|grad| grad.mul(2.0).map(Some));
        ///     let doubled = doubled.collect::<module_core::Result<Vec<_>>>()?;
        ///     call.set_grad_outputs(doubled)
        /// });
        /// let x = Tensor::from([1.0_f32]).with_grad()?;
        /// layer.call(x.clone())?.sum(..)?.backward()?;
        /// assert_eq!(x.grad().unwrap().item::<f32>()?, 2.0);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        #[track_caller]
        fn register_full_backward_pre_hook<R: HookResult>(
            &self,
            hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
        ) -> HookHandle<'_> {
            self.register_full_backward_pre_hook_with(HookOptions::new(), hook)
        }

        /// [`register_full_backward_pre_hook`](Self::register_full_backward_pre_hook) with options.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Call, HookOptions, Identity, ModuleExt, Tensor};
        ///
        /// let layer = Identity::new();
        /// let first = HookOptions::new().prepend(true);
        /// let _hook = layer.register_full_backward_pre_hook_with(first, |call| println!("{}", call.kind()));
        /// layer.call(Tensor::from([1.0_f32]).with_grad()?)?.sum(..)?.backward()?;
        /// # Ok::<(), module_core::Error>(())
        /// ```
        #[track_caller]
        fn register_full_backward_pre_hook_with<R: HookResult>(
            &self,
            options: HookOptions,
            hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
        ) -> HookHandle<'_> {
            Registration::on(self, options).add(Hook::backward_pre(hook))
        }

        /// Runs `hook` whenever a backward pass has computed the gradients of the inputs of a `call` of this module on this
        /// thread made before the handle is dropped. It may replace them.
        ///
        /// It is fixed with the call, as for [`register_full_backward_pre_hook`](Self::register_full_backward_pre_hook). If
        /// no input is tracked, it runs once the gradients of the outputs are there, without gradients of inputs; if the
        /// pass computes no gradient of the inputs, it does not run.
        ///
        /// A call with such a hook refuses a tracked tensor that is borrowed (`&Tensor`), because the hook needs to put the
        /// tensor behind a new node.
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
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{Call, HookOptions, Identity, ModuleExt, Tensor};
        ///
        /// let layer = Identity::new();
        /// let first = HookOptions::new().prepend(true);
        /// let _hook = layer.register_full_backward_hook_with(first, |call| println!("{}", call.kind()));
        /// layer.call(Tensor::from([1.0_f32]).with_grad()?)?.sum(..)?.backward()?;
        /// # Ok::<(), module_core::Error>(())
        /// ```
        #[track_caller]
        fn register_full_backward_hook_with<R: HookResult>(
            &self,
            options: HookOptions,
            hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
        ) -> HookHandle<'_> {
            Registration::on(self, options).add(Hook::backward(hook))
        }

        /// Runs `hook` whenever a state dict of this module, or of one that contains it, is about to be made on this
        /// thread, until the handle is dropped. A module's own hooks run before those of its descendants.
        ///
        /// # Example
        ///
        /// ```
        /// use std::cell::Cell;
        /// use std::rc::Rc;
        ///
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32]))?];
        /// let count = Rc::new(Cell::new(0));
        /// let seen = Rc::clone(&count);
        /// let hook = net.register_state_dict_pre_hook(move |_call| seen.set(seen.get() + 1));
        /// let _state = net.state_dict()?;
        /// assert_eq!(count.get(), 1);
        /// # drop(hook);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn register_state_dict_pre_hook<R: HookResult>(
            &self,
            hook: impl Fn(&mut StateDictPreCall<'_>) -> R + 'static,
        ) -> HookHandle<'_> {
            state::register_state_dict_pre(self, hook)
        }

        /// Runs `hook` whenever this module's part of a state dict has been made on this thread, until the handle is
        /// dropped. It may edit the part, whose keys have the prefix; hooks of the containing modules see its changes.
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

        /// Runs `hook` whenever a state dict is about to be loaded into this module, or into one that contains it, on this
        /// thread, until the handle is dropped. It may edit the keys that start with the module's prefix, for example to
        /// rename those of an older version; the caller's state dict is unchanged.
        ///
        /// The hooks of a module run before those of its descendants, and all run before anything is loaded: an error
        /// leaves the model unchanged.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, StateDict, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let hook = net.register_load_state_dict_pre_hook(|call| call.state_mut().rename("old", "0"));
        /// let state = StateDict::from_iter([("old", Tensor::from([3.0_f32, 4.0]))]);
        /// println!("{}", net.load_state_dict(&state)?);
        /// # drop(hook);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn register_load_state_dict_pre_hook<R: HookResult>(
            &self,
            hook: impl Fn(&mut LoadStateDictPreCall<'_>) -> R + 'static,
        ) -> HookHandle<'_> {
            state::register_load_pre(self, hook)
        }

        /// Runs `hook` whenever a state dict has been loaded into this module, or into one that contains it, on this
        /// thread, until the handle is dropped. It may edit the report: a key removed from `missing` or `unexpected` is not
        /// an error.
        ///
        /// The hooks of a module run after those of its descendants, and all run after the whole tree is loaded. If one
        /// fails, or keys are still missing or unexpected and loading is strict, the model's old values are restored.
        ///
        /// # Example
        ///
        /// ```
        /// use module_core::{ModuleExt, Parameter, Tensor};
        ///
        /// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
        /// let hook = net.register_load_state_dict_post_hook(|call| call.report_mut().unexpected.clear());
        /// let mut state = net.state_dict()?;
        /// state.insert("left_over", Tensor::from([0.0_f32]));
        /// println!("{}", net.load_state_dict(&state)?);
        /// # drop(hook);
        /// # Ok::<(), module_core::Error>(())
        /// ```
        fn register_load_state_dict_post_hook<R: HookResult>(
            &self,
            hook: impl Fn(&mut LoadStateDictCall<'_>) -> R + 'static,
        ) -> HookHandle<'_> {
            state::register_load_post(self, hook)
        }
    };
}
pub(super) use hook_methods;
