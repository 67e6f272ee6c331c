use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use super::call_hooks::{CallHook, CallHooks, StartHooks};
use super::count;
use super::hook::{ForwardHook, Hook};
use super::missed::{self, MissGuard};
use super::numbered::Numbered;
use super::options::HookOptions;
use super::shared;
use crate::module::{IdMap, Module, ModuleId, Token};

/// The arguments with which a hook is registered.
pub(crate) struct Registration<'m> {
    /// Whose calls it is for, an enum or the module that answers for it; `None` for every module.
    pub(crate) module: Option<(ModuleId, &'m dyn Module)>,
    pub(crate) options: HookOptions,
    /// That of the module in a `HookSet`.
    pub(crate) path: Option<Arc<str>>,
    /// The line that registered it.
    pub(crate) place: &'static Location<'static>,
}

impl<'m> Registration<'m> {
    #[track_caller]
    pub(crate) fn on(module: &'m (impl Module + ?Sized), options: HookOptions) -> Self {
        Self {
            module: Some((module.id(), module.as_module())),
            ..Self::everywhere(options)
        }
    }

    #[track_caller]
    pub(crate) fn everywhere(options: HookOptions) -> Self {
        Self {
            module: None,
            options,
            path: None,
            place: Location::caller(),
        }
    }

    pub(crate) fn add(self, hook: Hook) -> HookHandle<'m> {
        let number = NEXT.replace(NEXT.get() + 1);
        let order = match self.options.prepend {
            true => -number,
            false => number,
        };
        let handle = HookHandle {
            order,
            module: self.module.map(|(id, _)| id),
            borrow: PhantomData,
        };
        let token = self.module.map(|(_, module)| Token::of(module));
        // Hooks around state dicts run on the thread that asks for one.
        let is_called = !matches!(hook, Hook::Typed(_)) && !self.options.this_thread;
        let notice = handle.module.zip(token.clone()).filter(|_| is_called);
        let registered = Registered {
            number,
            hook,
            token,
            _notice: notice.map(|(id, token)| MissGuard::new(id, token, self.place)),
            always_call: self.options.always_call,
            path: self.path,
            place: self.place,
        };
        HOOKS.with_borrow_mut(|hooks| {
            let list = match handle.module {
                Some(module) => hooks.own.entry(module).or_default(),
                None => &mut hooks.global,
            };
            list.add(order, registered);
        });
        count::add();
        handle
    }
}

struct Registered {
    number: i64,
    hook: Hook,
    /// Distinguishes the module from another one at its address after the handle was leaked; `None` for a
    /// hook on every module.
    token: Option<Token>,
    always_call: bool,
    path: Option<Arc<str>>,
    place: &'static Location<'static>,
    /// Tells calls on other threads that the hook is here.
    _notice: Option<MissGuard>,
}

impl Drop for Registered {
    fn drop(&mut self) {
        count::remove();
    }
}

/// Hooks in the order in which they run: prepended ones by falling number, then the others by rising
/// number.
#[derive(Default)]
struct Ordered {
    /// By the number itself: the last that was added goes before all others.
    first: Numbered<Registered>,
    then: Numbered<Registered>,
}

impl Ordered {
    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.then.is_empty()
    }

    fn add(&mut self, order: i64, hook: Registered) {
        self.part(order).add(order.abs(), hook);
    }

    fn remove(&mut self, order: i64) -> Option<Registered> {
        self.part(order).remove(order.abs())
    }

    fn part(&mut self, order: i64) -> &mut Numbered<Registered> {
        match order < 0 {
            true => &mut self.first,
            false => &mut self.then,
        }
    }

    fn iter(&self) -> impl Iterator<Item = &Registered> {
        let all = self.first.iter().rev().chain(self.then.iter());
        all.map(|(_, hook)| hook)
    }
}

/// The hooks of a thread.
#[derive(Default)]
struct Registry {
    global: Ordered,
    own: IdMap<ModuleId, Ordered>,
}

impl Registry {
    /// The hooks that run when a module is called: those of every module first, unless another one,
    /// which is called in turn, answers for it.
    fn of_call(&self, id: ModuleId, module: &dyn Module) -> impl Iterator<Item = &Registered> {
        let answers = id == module.id();
        let global = self.global.iter().filter(move |_| answers);
        global.chain(self.own(id, module))
    }

    /// The hooks of a module, without those of one that stood at its address before.
    fn own(&self, id: ModuleId, module: &dyn Module) -> impl Iterator<Item = &Registered> {
        let hooks = self.own.get(&id).into_iter().flat_map(Ordered::iter);
        // Most have been registered on the module that there is, so that one look does for them.
        let mut seen: Option<(&Token, bool)> = None;
        hooks.filter(move |hook| match (&hook.token, seen) {
            (Some(token), Some((other, is_own))) if token == other => is_own,
            (Some(token), _) => {
                let is_own = token.is_of(module);
                seen = Some((token, is_own));
                is_own
            }
            (None, _) => true,
        })
    }
}

thread_local! {
    static NEXT: Cell<i64> = const { Cell::new(1) };
    static HOOKS: RefCell<Registry> = RefCell::default();
}

/// Whether a call of a module may have hooks: what a call reads where others have some.
pub(super) fn may_have_hooks(module: ModuleId) -> bool {
    read(|hooks| !hooks.global.is_empty() || hooks.own.contains_key(&module))
        || count::others_have_hooks() && others_may_have_hooks(module)
}

/// Whether a module may have hooks that run on every thread, or on another one.
#[inline(never)]
fn others_may_have_hooks(module: ModuleId) -> bool {
    shared::may_have_hooks(module) || missed::may_have_hooks(module)
}

/// Whether this thread has registered a hook on calls of this module; hooks on every module do not count.
///
/// # Example
///
/// ```
/// use module_core::{Identity, ModuleExt, hooks};
///
/// let layer = Identity::new();
/// assert!(!hooks::is_hooked(&layer));
/// let hook = layer.register_forward_hook(|_| ());
/// assert!(hooks::is_hooked(&layer));
/// drop(hook);
/// assert!(!hooks::is_hooked(&layer));
/// ```
pub fn is_hooked(module: &(impl Module + ?Sized)) -> bool {
    let (id, module) = (module.id(), module.as_module());
    let waits = |hook: &Registered| !matches!(hook.hook, Hook::Typed(_));
    read(|hooks| hooks.own(id, module).any(waits))
}

/// Removes its hook when it is dropped; `let _ = …` drops it at once, `let _hook = …` at the end of
/// the block.
///
/// It borrows the module, so that the module can neither move nor go while the hook is on it, and
/// stays on its thread, whose registry holds the hook: calls on other threads do not run it, and are
/// [reported](super::missed_hooks). A handle that is leaked (`mem::forget`) leaves
/// its hook in the registry for as long as the thread runs; should the module then move or go, the
/// hook does not run any more. It would run for a module of the same type that comes to the same
/// address only if nothing tells the two apart: neither they nor modules below them hold a parameter,
/// a buffer, a mode flag or a [`Marker`](crate::Marker), or their first tensor is tied.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleExt, Tensor};
///
/// let layer = Identity::new();
/// let hook = layer.register_forward_hook(|_call| Err::<(), _>(module_core::Error::custom("not now")));
/// assert!(layer.call(Tensor::from([1.0_f32])).is_err());
/// drop(hook);
/// layer.call(Tensor::from([1.0_f32]))?;
/// # Ok::<(), module_core::Error>(())
/// ```
#[must_use = "dropping the handle removes the hook"]
#[derive(Debug)]
pub struct HookHandle<'m> {
    order: i64,
    /// `None` for a hook on every module.
    module: Option<ModuleId>,
    borrow: PhantomData<(&'m (), *const ())>,
}

impl HookHandle<'_> {
    /// Removes the hook now.
    pub fn remove(self) {}
}

impl Drop for HookHandle<'_> {
    fn drop(&mut self) {
        // At the end of a thread the registry may be gone already, and its hooks with it.
        let removed = HOOKS.try_with(|hooks| {
            let mut hooks = hooks.borrow_mut();
            let list = match self.module {
                Some(module) => hooks.own.get_mut(&module)?,
                None => &mut hooks.global,
            };
            let removed = list.remove(self.order)?;
            if let (true, Some(module)) = (list.is_empty(), self.module) {
                hooks.own.remove(&module);
            }
            Some(removed)
        });
        // The closure is dropped after the borrow: it may own other handles.
        drop(removed);
    }
}

#[track_caller]
pub(crate) fn register_typed<'m, H: 'static>(
    module: &'m (impl Module + ?Sized),
    hook: H,
) -> HookHandle<'m> {
    Registration::on(module, HookOptions::new()).add(Hook::Typed(Rc::new(hook)))
}

/// The hooks of one type as they are now.
pub(crate) fn hooks_of_type<H: 'static>(module: &dyn Module) -> Vec<Rc<H>> {
    read(|hooks| {
        let others = hooks
            .own(module.id(), module)
            .filter_map(|hook| match &hook.hook {
                Hook::Typed(hook) => hook.clone().downcast().ok(),
                _ => None,
            });
        others.collect()
    })
}

/// The hooks of a call that starts, `None` if the module has none.
pub(super) fn at_start(id: ModuleId, module: &dyn Module) -> Option<StartHooks> {
    let (own, has_own) = own_at_start(id, module);
    if !has_own && count::others_have_hooks() && missed::may_have_hooks(id) {
        missed::report(id, module);
    }
    if !shared::may_have_hooks(id) {
        return own;
    }
    let has_hooks = own.is_some();
    let mut all = own.unwrap_or_default();
    let has_shared = shared::add_at_start(id, module, &mut all);
    (has_hooks || has_shared).then_some(all)
}

/// Those of this thread, and whether any is on this module rather than on every one.
fn own_at_start(id: ModuleId, module: &dyn Module) -> (Option<StartHooks>, bool) {
    read(|hooks| {
        let (mut found, mut has_own) = (None, false);
        for hook in hooks.of_call(id, module) {
            if matches!(hook.hook, Hook::Typed(_)) {
                continue;
            }
            has_own |= hook.token.is_some();
            let found = found.get_or_insert_with(StartHooks::default);
            match &hook.hook {
                Hook::ForwardPre(run) => found.forward_pre.push(hook.take(run)),
                Hook::BackwardPre(run) => found.backward_pre.push(hook.take(run)),
                Hook::Backward(run) => found.backward.push(hook.take(run)),
                Hook::Forward(_) | Hook::Typed(_) => {}
            }
        }
        (found, has_own)
    })
}

/// The hooks of a call that ends.
pub(super) fn at_end(id: ModuleId, module: &dyn Module) -> CallHooks<ForwardHook> {
    let mut hooks = own_at_end(id, module);
    shared::add_at_end(id, module, &mut hooks);
    hooks
}

fn own_at_end(id: ModuleId, module: &dyn Module) -> CallHooks<ForwardHook> {
    read(|hooks| {
        let forward = hooks
            .of_call(id, module)
            .filter_map(|hook| match &hook.hook {
                Hook::Forward(run) => Some(hook.take(run)),
                _ => None,
            });
        forward.collect()
    })
}

impl Registered {
    fn take<H: Clone>(&self, hook: &H) -> CallHook<H> {
        CallHook {
            number: self.number,
            always_call: self.always_call,
            path: self.path.clone(),
            place: self.place,
            hook: hook.clone(),
        }
    }
}

/// Reads the registry; at the end of a thread it may be gone, and then there are no hooks.
fn read<R: Default>(f: impl FnOnce(&Registry) -> R) -> R {
    HOOKS
        .try_with(|hooks| f(&hooks.borrow()))
        .unwrap_or_default()
}
