use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use super::set::select_modules;
use super::shared::{SharedHook, SharedRegistration};
use super::{
    BackwardCall, BackwardPreCall, ForwardCall, ForwardPreCall, HookOptions, HookResult, HookSet,
};
use crate::module::Module;
use crate::{Result, Select};

/// Hooks that run on whatever thread calls their modules, and go when the set is dropped: made by
/// [`HookSet::shared`], for models that a server runs on many threads.
///
/// It may be sent to another thread. Hooks of every thread run after those that the calling thread has.
///
/// # Example
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use std::sync::Arc;
///
/// use module_core::hooks::HookSet;
/// use module_core::{Call, Identity, Sequential, Tensor};
///
/// let net = Sequential::new().push(Identity::new()).push(Identity::new());
/// let calls = Arc::new(AtomicUsize::new(0));
/// let count = calls.clone();
/// let hooks = HookSet::shared(&net).forward("*", move |_| {
///     count.fetch_add(1, Ordering::Relaxed);
/// })?;
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| net.call(Tensor::from([1.0_f32, 2.0])).unwrap());
///     }
/// });
/// assert_eq!(calls.load(Ordering::Relaxed), 8);
/// drop(hooks);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use std::sync::Mutex;
///
/// use module_core::hooks::{HookOptions, HookSet};
/// use module_core::{Call, Identity, Sequential, Tensor};
///
/// static PASSES: Mutex<Vec<&str>> = Mutex::new(Vec::new());
/// let note = |pass| PASSES.lock().unwrap().push(pass);
///
/// let net = Sequential::new().push(Identity::new());
/// let hooks = HookSet::shared(&net);
/// assert!(hooks.is_empty());
/// let hooks = hooks
///     .forward_pre("0", move |_| note("forward_pre"))?
///     .forward_with(HookOptions::new().always_call(true), "0", move |_| note("forward"))?
///     .full_backward_pre("0", move |_| note("full_backward_pre"))?
///     .full_backward("0", move |_| note("full_backward"))?;
/// assert_eq!(hooks.len(), 4);
/// std::thread::scope(|scope| {
///     let pass = || net.call(Tensor::from([1.0_f32]).with_grad()?)?.sum(..)?.backward();
///     scope.spawn(pass).join().unwrap()
/// })?;
/// assert_eq!(*PASSES.lock().unwrap(), ["forward_pre", "forward", "full_backward_pre", "full_backward"]);
/// hooks.remove();
/// # Ok::<(), module_core::Error>(())
/// ```
#[must_use = "dropping the set removes the hooks"]
pub struct SharedHookSet<'m> {
    /// Borrowed, so that the modules stay where they are.
    root: &'m dyn Module,
    registrations: Vec<SharedRegistration>,
}

impl<'m> HookSet<'m> {
    /// A set of hooks that run on every thread, without hooks yet.
    pub fn shared(root: &'m (impl Module + ?Sized)) -> SharedHookSet<'m> {
        SharedHookSet {
            root: root.as_module(),
            registrations: Vec::new(),
        }
    }
}

impl SharedHookSet<'_> {
    /// Adds a forward pre-hook to the modules that `select` matches.
    ///
    /// # Errors
    ///
    /// A malformed pattern, or one that matches no module.
    #[track_caller]
    pub fn forward_pre<R: HookResult>(
        self,
        select: impl Into<Select>,
        hook: impl Fn(&mut ForwardPreCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        let hook = SharedHook::ForwardPre(Arc::new(move |call| hook(call).into_result()));
        self.add(&select.into(), HookOptions::new(), &hook)
    }

    /// Adds a forward hook to the modules that `select` matches.
    ///
    /// # Errors
    ///
    /// A malformed pattern, or one that matches no module.
    #[track_caller]
    pub fn forward<R: HookResult>(
        self,
        select: impl Into<Select>,
        hook: impl Fn(&mut ForwardCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        self.forward_with(HookOptions::new(), select, hook)
    }

    /// [`forward`](Self::forward) with options, of which [`always_call`](HookOptions::always_call) has a
    /// meaning here.
    ///
    /// # Errors
    ///
    /// As [`forward`](Self::forward).
    #[track_caller]
    pub fn forward_with<R: HookResult>(
        self,
        options: HookOptions,
        select: impl Into<Select>,
        hook: impl Fn(&mut ForwardCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        let hook = SharedHook::Forward(Arc::new(move |call| hook(call).into_result()));
        self.add(&select.into(), options, &hook)
    }

    /// Adds a full backward pre-hook to the modules that `select` matches.
    ///
    /// # Errors
    ///
    /// A malformed pattern, or one that matches no module.
    #[track_caller]
    pub fn full_backward_pre<R: HookResult>(
        self,
        select: impl Into<Select>,
        hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        let hook = SharedHook::BackwardPre(Arc::new(move |call| hook(call).into_result()));
        self.add(&select.into(), HookOptions::new(), &hook)
    }

    /// Adds a full backward hook to the modules that `select` matches.
    ///
    /// # Errors
    ///
    /// A malformed pattern, or one that matches no module.
    #[track_caller]
    pub fn full_backward<R: HookResult>(
        self,
        select: impl Into<Select>,
        hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        let hook = SharedHook::Backward(Arc::new(move |call| hook(call).into_result()));
        self.add(&select.into(), HookOptions::new(), &hook)
    }

    #[track_caller]
    fn add(mut self, select: &Select, options: HookOptions, hook: &SharedHook) -> Result<Self> {
        let place = Location::caller();
        for (path, module) in select_modules(self.root, select)? {
            let (path, hook) = (path.into(), hook.clone());
            let always = options.always_call;
            let registration = SharedRegistration::new(module, path, place, always, hook);
            self.registrations.push(registration);
        }
        Ok(self)
    }

    /// The number of hooks, one for each module.
    pub fn len(&self) -> usize {
        self.registrations.len()
    }

    /// Whether there is no hook.
    pub fn is_empty(&self) -> bool {
        self.registrations.is_empty()
    }

    /// Removes the hooks now.
    pub fn remove(self) {}
}

impl fmt::Debug for SharedHookSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedHookSet").field(&self.len()).finish()
    }
}
