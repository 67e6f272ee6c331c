use std::any::Any;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;

use super::call::{ForwardCall, ForwardPreCall};
use crate::Result;
use crate::module::{IdMap, ModuleId};

pub(super) type ForwardPreHook = Rc<dyn Fn(&mut ForwardPreCall<'_>) -> Result<()>>;
pub(super) type ForwardHook = Rc<dyn Fn(&mut ForwardCall<'_>) -> Result<()>>;

enum Hook {
    ForwardPre(ForwardPreHook),
    Forward(ForwardHook),
    /// A hook of a room that this one does not know; its type tells its kind.
    Other(Rc<dyn Any>),
}

/// A module's hooks of every kind, in registration order, with the number of their handle.
type Hooks = Vec<(u64, Hook)>;

thread_local! {
    /// How many hooks this thread has: all that a call without hooks reads.
    static ACTIVE: Cell<usize> = const { Cell::new(0) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
    static HOOKS: RefCell<IdMap<ModuleId, Hooks>> = RefCell::default();
}

/// Whether this thread has any hook.
#[inline]
pub(crate) fn any() -> bool {
    ACTIVE.with(Cell::get) > 0
}

/// Removes its hook when it is dropped; `let _ = …` drops it at once, `let _hook = …` at the end of
/// the block.
///
/// It borrows the module, so that the module can neither move nor go while the hook is on it, and
/// stays on its thread, whose registry holds the hook.
#[must_use = "dropping the handle removes the hook"]
#[derive(Debug)]
pub struct HookHandle<'m> {
    number: u64,
    module: ModuleId,
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
            let list = hooks.get_mut(&self.module)?;
            let place = list.iter().position(|(number, _)| *number == self.number)?;
            let removed = list.remove(place);
            if list.is_empty() {
                hooks.remove(&self.module);
            }
            Some(removed)
        });
        // The closure is dropped after the borrow: it may own other handles.
        if let Ok(Some(removed)) = removed {
            let _ = ACTIVE.try_with(|active| active.set(active.get().saturating_sub(1)));
            drop(removed);
        }
    }
}

fn register<'m>(module: ModuleId, hook: Hook) -> HookHandle<'m> {
    let number = NEXT.replace(NEXT.get() + 1);
    HOOKS.with_borrow_mut(|hooks| hooks.entry(module).or_default().push((number, hook)));
    ACTIVE.set(ACTIVE.get() + 1);
    HookHandle {
        number,
        module,
        borrow: PhantomData,
    }
}

pub(crate) fn register_forward_pre<'m>(module: ModuleId, hook: ForwardPreHook) -> HookHandle<'m> {
    register(module, Hook::ForwardPre(hook))
}

pub(crate) fn register_forward<'m>(module: ModuleId, hook: ForwardHook) -> HookHandle<'m> {
    register(module, Hook::Forward(hook))
}

pub(crate) fn register_other<'m, H: 'static>(module: ModuleId, hook: H) -> HookHandle<'m> {
    register(module, Hook::Other(Rc::new(hook)))
}

/// The hooks of one type as they are now.
pub(crate) fn others<H: 'static>(module: ModuleId) -> Vec<Rc<H>> {
    snapshot(module, |hook| match hook {
        Hook::Other(hook) => hook.clone().downcast().ok(),
        Hook::ForwardPre(_) | Hook::Forward(_) => None,
    })
}

/// The hooks of one kind as they are now: changes made while they run count from the next time.
fn snapshot<H>(module: ModuleId, pick: impl Fn(&Hook) -> Option<H>) -> Vec<H> {
    read(|hooks| {
        let list = hooks.get(&module).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(|(_, hook)| pick(hook)).collect()
    })
}

/// Reads the registry; at the end of a thread it may be gone, and then there are no hooks.
fn read<R: Default>(f: impl FnOnce(&IdMap<ModuleId, Hooks>) -> R) -> R {
    HOOKS
        .try_with(|hooks| f(&hooks.borrow()))
        .unwrap_or_default()
}

pub(super) fn forward_pre_hooks(module: ModuleId) -> Vec<ForwardPreHook> {
    snapshot(module, |hook| match hook {
        Hook::ForwardPre(hook) => Some(hook.clone()),
        Hook::Forward(_) | Hook::Other(_) => None,
    })
}

pub(super) fn forward_hooks(module: ModuleId) -> Vec<ForwardHook> {
    snapshot(module, |hook| match hook {
        Hook::Forward(hook) => Some(hook.clone()),
        Hook::ForwardPre(_) | Hook::Other(_) => None,
    })
}

/// Whether a module has any hook, and whether one needs its inputs to be kept.
pub(super) fn kinds(module: ModuleId) -> (bool, bool) {
    read(|hooks| {
        let Some(list) = hooks.get(&module) else {
            return (false, false);
        };
        (
            true,
            list.iter()
                .any(|(_, hook)| matches!(hook, Hook::Forward(_))),
        )
    })
}
