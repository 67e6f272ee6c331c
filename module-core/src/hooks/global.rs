//! Hooks on every module of the thread.

use super::registry::{HookHandle, Registration};
use super::{BackwardCall, BackwardPreCall, ForwardCall, ForwardPreCall, HookResult};
use super::{Hook, HookOptions};

/// Runs `hook` before every `call` of any module on this thread, before the module's own pre-hooks,
/// until the handle is dropped.
///
/// # Example
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
///
/// use module_core::{Call, Identity, Sequential, Tensor, hooks};
///
/// let net = Sequential::new().push(Identity::new());
/// let called = Rc::new(RefCell::new(Vec::new()));
/// let names = called.clone();
/// let hook = hooks::register_module_forward_pre_hook(move |call| {
///     names.borrow_mut().push(call.module().kind());
/// });
/// net.call(Tensor::from(1.0_f32))?;
/// assert_eq!(called.take(), ["Sequential", "Identity"]);
/// # drop(hook);
/// # Ok::<(), module_core::Error>(())
/// ```
#[track_caller]
pub fn register_module_forward_pre_hook<R: HookResult>(
    hook: impl Fn(&mut ForwardPreCall<'_>) -> R + 'static,
) -> HookHandle<'static> {
    Registration::everywhere(HookOptions::new()).add(Hook::forward_pre(hook))
}

/// Runs `hook` after every `call` of any module on this thread, before the module's own hooks, until
/// the handle is dropped.
///
/// # Example
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
///
/// use module_core::hooks::register_module_forward_hook;
/// use module_core::{Call, Identity, Sequential, Tensor};
///
/// let kinds = Rc::new(RefCell::new(Vec::new()));
/// let seen = Rc::clone(&kinds);
/// let hook = register_module_forward_hook(move |call| seen.borrow_mut().push(call.module().kind()));
/// let net = Sequential::new().push(Identity::new());
/// net.call(Tensor::from([1.0_f32]))?;
/// drop(hook);
/// net.call(Tensor::from([1.0_f32]))?;
/// assert_eq!(*kinds.borrow(), ["Identity", "Sequential"]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[track_caller]
pub fn register_module_forward_hook<R: HookResult>(
    hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
) -> HookHandle<'static> {
    register_module_forward_hook_with(HookOptions::new(), hook)
}

/// [`register_module_forward_hook`] with options.
///
/// # Example
///
/// ```
/// use module_core::hooks::register_module_forward_hook_with;
/// use module_core::{Call, HookOptions, Identity, Tensor};
///
/// let options = HookOptions::new().prepend(true);
/// let _hook = register_module_forward_hook_with(options, |call| println!("{}", call.module().kind()));
/// Identity::new().call(Tensor::from([1.0_f32]))?;
/// # Ok::<(), module_core::Error>(())
/// ```
#[track_caller]
pub fn register_module_forward_hook_with<R: HookResult>(
    options: HookOptions,
    hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
) -> HookHandle<'static> {
    Registration::everywhere(options).add(Hook::forward(hook))
}

/// Runs `hook` in the backward pass of every `call` of any module that this thread makes until the
/// handle is dropped, before the module's own: see
/// [`register_full_backward_pre_hook`](crate::ModuleExt::register_full_backward_pre_hook).
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use module_core::hooks::register_module_full_backward_pre_hook;
/// use module_core::{Call, Identity, Tensor};
///
/// let count = Arc::new(AtomicUsize::new(0));
/// let seen = Arc::clone(&count);
/// let _hook = register_module_full_backward_pre_hook(move |call| {
///     seen.fetch_add(call.grad_outputs().len(), Ordering::Relaxed);
/// });
/// let x = Tensor::from([1.0_f32]).with_grad()?;
/// Identity::new().call(x)?.sum(..)?.backward()?;
/// assert_eq!(count.load(Ordering::Relaxed), 1);
/// # Ok::<(), module_core::Error>(())
/// ```
#[track_caller]
pub fn register_module_full_backward_pre_hook<R: HookResult>(
    hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
) -> HookHandle<'static> {
    Registration::everywhere(HookOptions::new()).add(Hook::backward_pre(hook))
}

/// Runs `hook` in the backward pass of every `call` of any module that this thread makes until the
/// handle is dropped, before the module's own: see
/// [`register_full_backward_hook`](crate::ModuleExt::register_full_backward_hook).
///
/// # Example
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use module_core::hooks::register_module_full_backward_hook;
/// use module_core::{Call, Identity, Tensor};
///
/// let count = Arc::new(AtomicUsize::new(0));
/// let seen = Arc::clone(&count);
/// let _hook = register_module_full_backward_hook(move |call| {
///     seen.fetch_add(call.grad_inputs().len(), Ordering::Relaxed);
/// });
/// let x = Tensor::from([1.0_f32]).with_grad()?;
/// Identity::new().call(x)?.sum(..)?.backward()?;
/// assert_eq!(count.load(Ordering::Relaxed), 1);
/// # Ok::<(), module_core::Error>(())
/// ```
#[track_caller]
pub fn register_module_full_backward_hook<R: HookResult>(
    hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
) -> HookHandle<'static> {
    Registration::everywhere(HookOptions::new()).add(Hook::backward(hook))
}
