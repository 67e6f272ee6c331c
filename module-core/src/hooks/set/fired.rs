//! The hooks of a set, each with a flag that says whether it has run.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::{BackwardCall, BackwardPreCall, ForwardCall, ForwardPreCall, Hook, HookResult};

pub(super) fn forward_pre<R: HookResult>(
    hook: impl Fn(&mut ForwardPreCall<'_>) -> R + 'static,
) -> impl Fn(Arc<AtomicBool>) -> Hook {
    let hook = Rc::new(hook);
    move |fired| {
        let hook = hook.clone();
        Hook::forward_pre(move |call: &mut ForwardPreCall<'_>| {
            fired.store(true, Ordering::Relaxed);
            hook(call)
        })
    }
}

pub(super) fn forward<R: HookResult>(
    hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
) -> impl Fn(Arc<AtomicBool>) -> Hook {
    let hook = Rc::new(hook);
    move |fired| {
        let hook = hook.clone();
        Hook::forward(move |call: &mut ForwardCall<'_>| {
            fired.store(true, Ordering::Relaxed);
            hook(call)
        })
    }
}

pub(super) fn full_backward_pre<R: HookResult>(
    hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
) -> impl Fn(Arc<AtomicBool>) -> Hook {
    let hook = Arc::new(hook);
    move |fired| {
        let hook = hook.clone();
        Hook::backward_pre(move |call: &mut BackwardPreCall<'_>| {
            fired.store(true, Ordering::Relaxed);
            hook(call)
        })
    }
}

pub(super) fn full_backward<R: HookResult>(
    hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
) -> impl Fn(Arc<AtomicBool>) -> Hook {
    let hook = Arc::new(hook);
    move |fired| {
        let hook = hook.clone();
        Hook::backward(move |call: &mut BackwardCall<'_>| {
            fired.store(true, Ordering::Relaxed);
            hook(call)
        })
    }
}
