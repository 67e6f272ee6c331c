//! Hooks that run on every thread.

use std::panic::Location;
use std::sync::Arc;

use super::call_hooks::{CallHook, CallHooks, StartHooks};
use super::count;
use super::hook::{
    BackwardHook, BackwardPreHook, ForwardHook, ForwardPreHook, SharedForward, SharedForwardPre,
};
use super::table::ModuleTable;
use crate::module::{Module, ModuleId, Token};

#[derive(Clone)]
pub(super) enum SharedHook {
    ForwardPre(Arc<SharedForwardPre>),
    Forward(Arc<SharedForward>),
    BackwardPre(BackwardPreHook),
    Backward(BackwardHook),
}

struct RegisteredShared {
    hook: SharedHook,
    token: Token,
    always_call: bool,
    path: Arc<str>,
    place: &'static Location<'static>,
}

/// Their numbers are behind those of the threads, which count from 1.
static HOOKS: ModuleTable<RegisteredShared> = ModuleTable::new(1 << 40);

/// A hook that runs on every thread, until this is dropped.
pub(super) struct SharedRegistration {
    module: ModuleId,
    number: i64,
}

impl SharedRegistration {
    pub(super) fn new(
        module: &dyn Module,
        path: Arc<str>,
        place: &'static Location<'static>,
        always_call: bool,
        hook: SharedHook,
    ) -> Self {
        let shared = RegisteredShared {
            hook,
            token: Token::of(module),
            always_call,
            path,
            place,
        };
        let module = module.id();
        let number = HOOKS.add(module, shared);
        count::add_shared();
        Self { module, number }
    }
}

impl Drop for SharedRegistration {
    fn drop(&mut self) {
        drop(HOOKS.remove(self.module, self.number));
        count::remove_shared();
    }
}

impl RegisteredShared {
    fn take<H>(&self, number: i64, hook: H) -> CallHook<H> {
        CallHook {
            number,
            always_call: self.always_call,
            path: Some(self.path.clone()),
            place: self.place,
            hook,
        }
    }
}

/// Adds the hooks of every thread that a call reads as it starts; whether the module has any.
pub(super) fn add_at_start(id: ModuleId, module: &dyn Module, start: &mut StartHooks) -> bool {
    HOOKS.read(id, |hooks| {
        let mut any = false;
        for (number, shared) in hooks.iter().filter(|(_, hook)| hook.token.is_of(module)) {
            any = true;
            match &shared.hook {
                SharedHook::ForwardPre(hook) => {
                    let hook = ForwardPreHook::Shared(hook.clone());
                    start.forward_pre.push(shared.take(number, hook));
                }
                SharedHook::BackwardPre(hook) => {
                    start.backward_pre.push(shared.take(number, hook.clone()))
                }
                SharedHook::Backward(hook) => {
                    start.backward.push(shared.take(number, hook.clone()))
                }
                SharedHook::Forward(_) => {}
            }
        }
        any
    })
}

/// Adds the hooks of every thread that run as a call ends.
pub(super) fn add_at_end(id: ModuleId, module: &dyn Module, end: &mut CallHooks<ForwardHook>) {
    HOOKS.read(id, |hooks| {
        for (number, shared) in hooks.iter().filter(|(_, hook)| hook.token.is_of(module)) {
            if let SharedHook::Forward(hook) = &shared.hook {
                end.push(shared.take(number, ForwardHook::Shared(hook.clone())));
            }
        }
    });
}

/// Whether hooks of every thread may be on a module.
pub(super) fn may_have_hooks(id: ModuleId) -> bool {
    HOOKS.read(id, |_| true)
}
