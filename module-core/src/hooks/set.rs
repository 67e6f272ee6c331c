//! Hooks on many modules at once.

mod fired;

use std::any::TypeId;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fired::{forward, forward_pre, full_backward, full_backward_pre};

use super::registry::{HookHandle, Registration};
use super::{BackwardCall, BackwardPreCall, ForwardCall, ForwardPreCall, HookResult};
use super::{Hook, HookOptions};
use crate::error::suggest;
use crate::module::{IdSet, Module, Walk, walk};
use crate::{ModuleError, Result, Select};

/// Hooks of many modules, which go when the set is dropped.
///
/// The modules are those that a [`Select`] matches or those of one type; a call tells the hook its
/// module and its path. A module that stands at several paths is hooked once, under the first of
/// them that is selected. A selection of nothing is an error, with the nearest name.
///
/// `forward` itself runs no hooks, only `call` does: [`unfired`](Self::unfired) are the modules on
/// whose hooks nothing has happened yet, [`bypassed`](Self::bypassed) those that were used all the
/// same.
///
/// # Example
///
/// ```
/// use std::{cell::RefCell, rc::Rc};
///
/// use module_core::hooks::HookSet;
/// use module_core::{Call, Identity, Sequential, Tensor};
///
/// let block = || Sequential::new().push(Identity::new()).push(Identity::new());
/// let net = Sequential::new().push(block()).push(block());
/// let shapes = Rc::new(RefCell::new(Vec::new()));
/// let seen = shapes.clone();
/// let hooks = HookSet::forward(&net, "*.1", move |call| {
///     let line = format!("{} {}", call.path(), call.output()?.shape());
///     seen.borrow_mut().push(line);
///     Ok(())
/// })?;
/// net.call(Tensor::from([1.0_f32, 2.0]))?;
/// assert_eq!(shapes.take(), ["0.1 [2]", "1.1 [2]"]);
/// drop(hooks);
///
/// assert_eq!(HookSet::forward_of::<Identity, _>(&net, |_| ())?.len(), 4);
/// let error = HookSet::forward(&net, "0.l", |_| ()).unwrap_err();
/// assert!(error.to_string().starts_with("`0.l` selects nothing"));
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use std::{cell::RefCell, rc::Rc, sync::Mutex};
///
/// use module_core::hooks::HookSet;
/// use module_core::{Call, Identity, Sequential, Tensor};
///
/// static PASSES: Mutex<Vec<&str>> = Mutex::new(Vec::new());
/// let note = |pass| PASSES.lock().unwrap().push(pass);
///
/// // All four kinds, by paths or by the type of the modules.
/// let net = Sequential::new().push(Identity::new()).push(Sequential::new());
/// let mut hooks = HookSet::forward_pre(&net, "0", move |_| note("forward_pre"))?;
/// assert!(hooks.unfired().eq(["0"]));
/// let others = [
///     HookSet::full_backward_pre(&net, "0", move |_| note("full_backward_pre"))?,
///     HookSet::full_backward(&net, "0", move |_| note("full_backward"))?,
///     HookSet::forward_pre_of::<Identity, _>(&net, move |_| note("forward_pre_of"))?,
///     HookSet::full_backward_pre_of::<Identity, _>(&net, move |_| note("full_backward_pre_of"))?,
///     HookSet::full_backward_of::<Identity, _>(&net, move |_| note("full_backward_of"))?,
/// ];
/// net.call(Tensor::from([1.0_f32]).with_grad()?)?.sum(..)?.backward()?;
/// assert_eq!(
///     *PASSES.lock().unwrap(),
///     [
///         "forward_pre",
///         "forward_pre_of",
///         "full_backward_pre",
///         "full_backward_pre_of",
///         "full_backward",
///         "full_backward_of",
///     ],
/// );
/// assert!(hooks.unfired().next().is_none() && !hooks.is_empty());
/// others.into_iter().for_each(HookSet::remove);
/// hooks.remove();
/// # Ok::<(), module_core::Error>(())
/// ```
#[must_use = "dropping the set removes the hooks"]
#[derive(Default)]
pub struct HookSet<'m> {
    handles: Vec<HookHandle<'m>>,
    modules: Vec<HookedModule<'m>>,
}

/// A module with a hook of a set.
struct HookedModule<'m> {
    path: Arc<str>,
    module: &'m dyn Module,
    fired: Arc<AtomicBool>,
}

impl<'m> HookSet<'m> {
    /// Without hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// A forward pre-hook on the modules that `select` matches.
    ///
    /// # Errors
    ///
    /// A malformed pattern, or one that matches no module.
    #[track_caller]
    pub fn forward_pre<R: HookResult>(
        root: &'m (impl Module + ?Sized),
        select: impl Into<Select>,
        hook: impl Fn(&mut ForwardPreCall<'_>) -> R + 'static,
    ) -> Result<Self> {
        let modules = select_modules(root.as_module(), &select.into())?;
        Ok(Self::on(modules, Location::caller(), forward_pre(hook)))
    }

    /// A forward pre-hook on the modules of type `M`.
    ///
    /// # Errors
    ///
    /// No module of this type.
    #[track_caller]
    pub fn forward_pre_of<M: Module, R: HookResult>(
        root: &'m (impl Module + ?Sized),
        hook: impl Fn(&mut ForwardPreCall<'_>) -> R + 'static,
    ) -> Result<Self> {
        let modules = of_type::<M>(root.as_module())?;
        Ok(Self::on(modules, Location::caller(), forward_pre(hook)))
    }

    /// A forward hook on the modules that `select` matches.
    ///
    /// # Errors
    ///
    /// A malformed pattern, or one that matches no module.
    #[track_caller]
    pub fn forward<R: HookResult>(
        root: &'m (impl Module + ?Sized),
        select: impl Into<Select>,
        hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
    ) -> Result<Self> {
        let modules = select_modules(root.as_module(), &select.into())?;
        Ok(Self::on(modules, Location::caller(), forward(hook)))
    }

    /// A forward hook on the modules of type `M`.
    ///
    /// # Errors
    ///
    /// No module of this type.
    #[track_caller]
    pub fn forward_of<M: Module, R: HookResult>(
        root: &'m (impl Module + ?Sized),
        hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
    ) -> Result<Self> {
        let modules = of_type::<M>(root.as_module())?;
        Ok(Self::on(modules, Location::caller(), forward(hook)))
    }

    /// A full backward pre-hook on the modules that `select` matches.
    ///
    /// # Errors
    ///
    /// A malformed pattern, or one that matches no module.
    #[track_caller]
    pub fn full_backward_pre<R: HookResult>(
        root: &'m (impl Module + ?Sized),
        select: impl Into<Select>,
        hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        let modules = select_modules(root.as_module(), &select.into())?;
        Ok(Self::on(
            modules,
            Location::caller(),
            full_backward_pre(hook),
        ))
    }

    /// A full backward pre-hook on the modules of type `M`.
    ///
    /// # Errors
    ///
    /// No module of this type.
    #[track_caller]
    pub fn full_backward_pre_of<M: Module, R: HookResult>(
        root: &'m (impl Module + ?Sized),
        hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        let modules = of_type::<M>(root.as_module())?;
        Ok(Self::on(
            modules,
            Location::caller(),
            full_backward_pre(hook),
        ))
    }

    /// A full backward hook on the modules that `select` matches.
    ///
    /// # Errors
    ///
    /// A malformed pattern, or one that matches no module.
    #[track_caller]
    pub fn full_backward<R: HookResult>(
        root: &'m (impl Module + ?Sized),
        select: impl Into<Select>,
        hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        let modules = select_modules(root.as_module(), &select.into())?;
        Ok(Self::on(modules, Location::caller(), full_backward(hook)))
    }

    /// A full backward hook on the modules of type `M`.
    ///
    /// # Errors
    ///
    /// No module of this type.
    #[track_caller]
    pub fn full_backward_of<M: Module, R: HookResult>(
        root: &'m (impl Module + ?Sized),
        hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
    ) -> Result<Self> {
        let modules = of_type::<M>(root.as_module())?;
        Ok(Self::on(modules, Location::caller(), full_backward(hook)))
    }

    /// Hooks `modules`, each with what `make` makes of the flag that tells whether it has fired.
    fn on(
        modules: Vec<(String, &'m dyn Module)>,
        place: &'static Location<'static>,
        make: impl Fn(Arc<AtomicBool>) -> Hook,
    ) -> Self {
        let mut set = Self::new();
        for (path, module) in modules {
            let (path, fired) = (Arc::<str>::from(path), Arc::<AtomicBool>::default());
            let registration = Registration {
                module: Some((module.id(), module)),
                options: HookOptions::new(),
                path: Some(path.clone()),
                place,
            };
            set.handles.push(registration.add(make(fired.clone())));
            set.modules.push(HookedModule {
                path,
                module,
                fired,
            });
        }
        set
    }

    /// Adds a hook that was registered on its own.
    pub fn push(&mut self, handle: HookHandle<'m>) {
        self.handles.push(handle);
    }

    /// The number of hooks.
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// Whether there is no hook.
    pub fn is_empty(&self) -> bool {
        self.handles.is_empty()
    }

    /// Removes the hooks now.
    pub fn remove(self) {}

    /// The paths of the selected modules whose hook has not run yet.
    pub fn unfired(&self) -> impl Iterator<Item = &str> {
        self.unfired_modules().map(|module| &*module.path)
    }

    /// The paths of those [`unfired`](Self::unfired) ones that have been used all the same: a gradient
    /// is there for one of their own parameters, so that `forward` ran and `call` did not.
    ///
    /// It is to be asked after a backward pass; gradients from before the hooks count too.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::hooks::HookSet;
    /// use module_core::{Forward, Module, Parameter, Result, Tensor};
    ///
    /// #[derive(Module)]
    /// struct Scale {
    ///     weight: Parameter,
    /// }
    ///
    /// impl Forward for Scale {
    ///     type Output = Tensor;
    ///
    ///     fn forward(&self, x: Tensor) -> Result<Tensor> {
    ///         x.mul(&self.weight.tensor())
    ///     }
    /// }
    ///
    /// let net = vec![Scale { weight: Parameter::new(Tensor::from(2.0_f32))? }];
    /// let hooks = HookSet::forward(&net, "0", |_| ())?;
    /// net[0].forward(Tensor::from(3.0_f32))?.backward()?;
    /// assert!(hooks.bypassed().eq(["0"]));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn bypassed(&self) -> impl Iterator<Item = &str> {
        let own = Walk::new().recurse(false);
        let used = move |module: &&HookedModule<'_>| {
            let parameters = walk::parameters(module.module, &own);
            parameters.iter().any(|(_, own)| own.grad().is_some())
        };
        self.unfired_modules()
            .filter(used)
            .map(|module| &*module.path)
    }

    fn unfired_modules(&self) -> impl Iterator<Item = &HookedModule<'m>> {
        let unfired = |module: &&HookedModule<'_>| !module.fired.load(Ordering::Relaxed);
        self.modules.iter().filter(unfired)
    }
}

impl<'m> Extend<HookHandle<'m>> for HookSet<'m> {
    fn extend<I: IntoIterator<Item = HookHandle<'m>>>(&mut self, handles: I) {
        self.handles.extend(handles);
    }
}

impl<'m> FromIterator<HookHandle<'m>> for HookSet<'m> {
    fn from_iter<I: IntoIterator<Item = HookHandle<'m>>>(handles: I) -> Self {
        let mut set = Self::new();
        set.extend(handles);
        set
    }
}

impl fmt::Debug for HookSet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HookSet").field(&self.handles.len()).finish()
    }
}

/// The modules at the paths that `select` matches, each once.
pub(super) fn select_modules<'m>(
    root: &'m dyn Module,
    select: &Select,
) -> Result<Vec<(String, &'m dyn Module)>> {
    // Every path of a shared module may be the one that is selected.
    let mut modules = walk::modules(root, &Walk::new().remove_duplicate(false));
    select.resolve_modules(modules.iter().map(|(path, _)| path.as_str()))?;
    let mut seen = IdSet::default();
    modules.retain(|(path, module)| select.matches(path) && seen.insert(module.id()));
    Ok(modules)
}

/// The modules of type `M`, each once.
fn of_type<M: Module>(root: &dyn Module) -> Result<Vec<(String, &dyn Module)>> {
    let modules = walk::modules(root, &Walk::new());
    let is_type = |module: &dyn Module| module.id().parts().0 == TypeId::of::<M>();
    if modules.iter().any(|(_, module)| is_type(*module)) {
        let found = modules.into_iter().filter(|(_, module)| is_type(*module));
        return Ok(found.collect());
    }
    let name = M::type_kind();
    Err(ModuleError::NothingSelected {
        selection: format!("the type {name}"),
        suggestion: suggest(name, modules.iter().map(|(_, module)| module.kind())),
        names: Vec::new(),
    }
    .into())
}
