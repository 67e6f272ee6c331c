//! Hooks around the state dict of a module and around loading it.

use super::{LoadReport, StateDict};
use crate::hooks::{self, HookHandle, HookResult};
use crate::module::{Module, Walk, walk};
use crate::{Error, Result};

/// A state dict that is about to be made, as seen by a module's pre-hook.
///
/// # Example
///
/// ```
/// use module_core::{Identity, ModuleExt, Result, Sequential, StateDictPreCall};
///
/// /// Refuses to save a part of a model.
/// fn refuse(call: &mut StateDictPreCall<'_>) -> Result<()> {
///     let problem = format!("`{}` ({}) is not to be saved", call.prefix(), call.module().kind());
///     Err(module_core::Error::custom(problem))
/// }
///
/// let block = Sequential::new().push(Identity::new());
/// let _hook = block.register_state_dict_pre_hook(refuse);
/// let error = block.state_dict().unwrap_err();
/// assert!(error.to_string().contains("`` (Sequential) is not to be saved"), "{error}");
/// ```
pub struct StateDictPreCall<'c> {
    module: &'c dyn Module,
    prefix: &'c str,
}

/// A state dict whose part for a module has been made, as seen by the module's hook.
///
/// # Example
///
/// ```
/// use module_core::{DType, ModuleExt, Parameter, Result, StateDict, StateDictCall, Tensor};
///
/// /// Saves half precision.
/// fn half(call: &mut StateDictCall<'_>) -> Result<()> {
///     let cast = |(key, x): (&str, &Tensor)| Ok((key.to_owned(), x.to_dtype(DType::F16)?));
///     let casts = call.state().iter().map(cast).collect::<Result<StateDict>>()?;
///     *call.state_mut() = casts;
///     Ok(())
/// }
///
/// let net = vec![Parameter::new(Tensor::from([1.0_f32, 2.0]))?];
/// let _hook = net.register_state_dict_post_hook(half);
/// assert_eq!(net.state_dict()?.get("0").map(Tensor::dtype), Some(DType::F16));
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct StateDictCall<'c> {
    module: &'c dyn Module,
    prefix: &'c str,
    state: &'c mut StateDict,
}

/// A state dict that is about to be loaded, as seen by a module's pre-hook.
///
/// # Example
///
/// ```
/// use module_core::{LoadStateDictPreCall, ModuleExt, Parameter, Result, StateDict, Tensor};
///
/// /// Accepts files in which the first parameter is called `gamma`.
/// fn rename(call: &mut LoadStateDictPreCall<'_>) -> Result<()> {
///     assert!(call.strict());
///     let (old, new) = (format!("{}gamma", call.prefix()), format!("{}0", call.prefix()));
///     if let Some(value) = call.state().get(&old).cloned() {
///         call.state_mut().remove(&old);
///         call.state_mut().insert(new, value);
///     }
///     Ok(())
/// }
///
/// let net = vec![Parameter::new(Tensor::from(1.0_f32))?];
/// let _hook = net.register_load_state_dict_pre_hook(rename);
/// let _ = net.load_state_dict(&StateDict::from_iter([("gamma", Tensor::from(5.0_f32))]))?;
/// assert_eq!(net[0].detach().item::<f32>()?, 5.0);
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct LoadStateDictPreCall<'c> {
    module: &'c dyn Module,
    prefix: &'c str,
    strict: bool,
    state: &'c mut StateDict,
}

/// A state dict that has been loaded, as seen by a module's hook.
///
/// # Example
///
/// ```
/// use module_core::{LoadStateDictCall, ModuleExt, Parameter, StateDict, Tensor};
///
/// /// Lets files miss the second parameter.
/// fn optional(call: &mut LoadStateDictCall<'_>) {
///     assert_eq!(call.report().missing, ["1"]);
///     call.report_mut().missing.clear();
/// }
///
/// let one = || Parameter::new(Tensor::from(1.0_f32));
/// let net = vec![one()?, one()?];
/// let state = StateDict::from_iter([("0", Tensor::from(5.0_f32))]);
/// assert!(net.load_state_dict(&state).is_err());
/// let _hook = net.register_load_state_dict_post_hook(optional);
/// let _ = net.load_state_dict(&state)?;
/// assert_eq!((net[0].detach().item::<f32>()?, net[1].detach().item::<f32>()?), (5.0, 1.0));
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct LoadStateDictCall<'c> {
    module: &'c dyn Module,
    prefix: &'c str,
    report: &'c mut LoadReport,
}

macro_rules! places {
    ($($name:ident),*) => {$(
        impl $name<'_> {
            /// The module that the hook belongs to.
            pub fn module(&self) -> &dyn Module {
                self.module
            }

            /// The prefix of the module's keys: empty, or its path and a dot.
            pub fn prefix(&self) -> &str {
                self.prefix
            }
        }
    )*};
}

places!(
    StateDictPreCall,
    StateDictCall,
    LoadStateDictPreCall,
    LoadStateDictCall
);

impl StateDictCall<'_> {
    /// The keys of the module and its descendants, with the prefix.
    pub fn state(&self) -> &StateDict {
        self.state
    }

    /// The same, for editing; every key must start with the prefix.
    pub fn state_mut(&mut self) -> &mut StateDict {
        self.state
    }
}

impl LoadStateDictPreCall<'_> {
    /// Whether missing and unexpected keys will be errors.
    pub fn strict(&self) -> bool {
        self.strict
    }

    /// The keys of the module and its descendants, with the prefix.
    pub fn state(&self) -> &StateDict {
        self.state
    }

    /// The same, for editing; every key must start with the prefix. The caller's own state dict is unchanged.
    pub fn state_mut(&mut self) -> &mut StateDict {
        self.state
    }
}

impl LoadStateDictCall<'_> {
    /// The report of the load, for the whole tree.
    pub fn report(&self) -> &LoadReport {
        self.report
    }

    /// The same, for editing: a key removed from `missing` or `unexpected` is no longer an error.
    pub fn report_mut(&mut self) -> &mut LoadReport {
        self.report
    }
}

type StateDictPre = Box<dyn Fn(&mut StateDictPreCall<'_>) -> Result<()>>;
type StateDictPost = Box<dyn Fn(&mut StateDictCall<'_>) -> Result<()>>;
type LoadPre = Box<dyn Fn(&mut LoadStateDictPreCall<'_>) -> Result<()>>;
type LoadPost = Box<dyn Fn(&mut LoadStateDictCall<'_>) -> Result<()>>;

pub(crate) fn register_state_dict_pre<'m, R: HookResult>(
    module: &'m (impl Module + ?Sized),
    hook: impl Fn(&mut StateDictPreCall<'_>) -> R + 'static,
) -> HookHandle<'m> {
    let hook: StateDictPre = Box::new(move |call| hook(call).into_result());
    hooks::register_typed(module, hook)
}

pub(crate) fn register_state_dict_post<'m, R: HookResult>(
    module: &'m (impl Module + ?Sized),
    hook: impl Fn(&mut StateDictCall<'_>) -> R + 'static,
) -> HookHandle<'m> {
    let hook: StateDictPost = Box::new(move |call| hook(call).into_result());
    hooks::register_typed(module, hook)
}

pub(crate) fn register_load_pre<'m, R: HookResult>(
    module: &'m (impl Module + ?Sized),
    hook: impl Fn(&mut LoadStateDictPreCall<'_>) -> R + 'static,
) -> HookHandle<'m> {
    let hook: LoadPre = Box::new(move |call| hook(call).into_result());
    hooks::register_typed(module, hook)
}

pub(crate) fn register_load_post<'m, R: HookResult>(
    module: &'m (impl Module + ?Sized),
    hook: impl Fn(&mut LoadStateDictCall<'_>) -> R + 'static,
) -> HookHandle<'m> {
    let hook: LoadPost = Box::new(move |call| hook(call).into_result());
    hooks::register_typed(module, hook)
}

fn prefix(path: &str) -> String {
    match path {
        "" => String::new(),
        path => format!("{path}."),
    }
}

/// Runs the hooks of a module before its keys are collected; returns whether there are any.
pub(super) fn before_collecting(module: &dyn Module, path: &str) -> Result<bool> {
    let hooks = hooks::hooks_of_type::<StateDictPre>(module);
    for hook in &hooks {
        hook(&mut StateDictPreCall {
            module,
            prefix: &prefix(path),
        })?;
    }
    Ok(!hooks.is_empty())
}

/// Runs the hooks of a module after its keys were collected.
pub(super) fn after_collecting(
    module: &dyn Module,
    path: &str,
    state: &mut StateDict,
) -> Result<()> {
    for hook in hooks::hooks_of_type::<StateDictPost>(module) {
        let prefix = &prefix(path);
        edit_own("state_dict", state, prefix, |state| {
            hook(&mut StateDictCall {
                module,
                prefix,
                state,
            })
        })?;
    }
    Ok(())
}

fn every_path(root: &dyn Module) -> Vec<(String, &dyn Module)> {
    walk::modules(root, &Walk::new().remove_duplicate(false))
}

/// Runs the pre-hooks of a tree, outer modules first, and returns the resulting state dict.
pub(super) fn before_loading(
    root: &dyn Module,
    mut state: StateDict,
    strict: bool,
) -> Result<StateDict> {
    for (path, module) in every_path(root) {
        for hook in hooks::hooks_of_type::<LoadPre>(module) {
            let prefix = &prefix(&path);
            edit_own("load_state_dict", &mut state, prefix, |state| {
                hook(&mut LoadStateDictPreCall {
                    module,
                    prefix,
                    strict,
                    state,
                })
            })?;
        }
    }
    Ok(state)
}

/// A tree's post-load hooks, with the module and the path of each.
#[derive(Default)]
pub(super) struct AfterLoading<'m>(Vec<(String, &'m dyn Module, std::rc::Rc<LoadPost>)>);

impl<'m> AfterLoading<'m> {
    /// The current hooks, inner modules first.
    pub(super) fn of(root: &'m dyn Module) -> Self {
        // Children come before their parent, in their own order: the order of a post-order walk.
        fn collect<'m>(
            modules: &mut std::iter::Peekable<std::vec::IntoIter<(String, &'m dyn Module)>>,
            found: &mut Vec<(String, &'m dyn Module, std::rc::Rc<LoadPost>)>,
        ) {
            let Some((path, module)) = modules.next() else {
                return;
            };
            let start = prefix(&path);
            while modules
                .peek()
                .is_some_and(|(below, _)| below.starts_with(&start))
            {
                collect(modules, found);
            }
            let hooks = hooks::hooks_of_type::<LoadPost>(module);
            found.extend(hooks.into_iter().map(|hook| (path.clone(), module, hook)));
        }

        let mut found = Vec::new();
        collect(&mut every_path(root).into_iter().peekable(), &mut found);
        Self(found)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn run(&self, report: &mut LoadReport) -> Result<()> {
        for (path, module, hook) in &self.0 {
            hook(&mut LoadStateDictCall {
                module: *module,
                prefix: &prefix(path),
                report,
            })?;
        }
        Ok(())
    }
}

/// Lets `edit` change the keys that start with `prefix`; they keep their position among the others.
fn edit_own(
    op: &'static str,
    state: &mut StateDict,
    prefix: &str,
    edit: impl FnOnce(&mut StateDict) -> Result<()>,
) -> Result<()> {
    if prefix.is_empty() {
        return edit(state);
    }
    let is_own = |key: &str| key.starts_with(prefix);
    let place = state.keys().position(is_own).unwrap_or(state.len());
    let parts = state.clone().into_iter();
    let (mut own, mut others) = (StateDict::new(), StateDict::new());
    for (key, tensor) in parts {
        let part = if is_own(&key) { &mut own } else { &mut others };
        part.tensors.insert(key, tensor);
    }
    edit(&mut own)?;
    if let Some(strange) = own.keys().find(|key| !is_own(key)) {
        let problem = format!("a hook of the module must keep its prefix, `{prefix}`");
        return Err(Error::argument(op, "key", strange, problem));
    }
    let after = others.tensors.split_off(place.min(others.len()));
    others.tensors.extend(own.tensors);
    others.tensors.extend(after);
    *state = others;
    Ok(())
}
