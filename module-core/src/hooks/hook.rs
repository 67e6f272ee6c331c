//! The functions of hooks, by kind.

use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

use super::backward_call::{BackwardCall, BackwardPreCall};
use super::forward_call::{ForwardCall, ForwardPreCall, HookResult};
use crate::Result;

type OwnForwardPre = dyn Fn(&mut ForwardPreCall<'_>) -> Result<()>;
pub(super) type SharedForwardPre = dyn Fn(&mut ForwardPreCall<'_>) -> Result<()> + Send + Sync;
type OwnForward = dyn Fn(&mut ForwardCall<'_>) -> Result<()>;
pub(super) type SharedForward = dyn Fn(&mut ForwardCall<'_>) -> Result<()> + Send + Sync;

/// A forward pre-hook of this thread, or of every one.
#[derive(Clone)]
pub(crate) enum ForwardPreHook {
    Own(Rc<OwnForwardPre>),
    Shared(Arc<SharedForwardPre>),
}

impl ForwardPreHook {
    pub(super) fn run(&self, call: &mut ForwardPreCall<'_>) -> Result<()> {
        match self {
            Self::Own(hook) => hook(call),
            Self::Shared(hook) => hook(call),
        }
    }
}

/// A forward hook of this thread, or of every one.
#[derive(Clone)]
pub(crate) enum ForwardHook {
    Own(Rc<OwnForward>),
    Shared(Arc<SharedForward>),
}

impl ForwardHook {
    pub(super) fn run(&self, call: &mut ForwardCall<'_>) -> Result<()> {
        match self {
            Self::Own(hook) => hook(call),
            Self::Shared(hook) => hook(call),
        }
    }
}

pub(crate) type BackwardPreHook = Arc<dyn Fn(&mut BackwardPreCall<'_>) -> Result<()> + Send + Sync>;
pub(crate) type BackwardHook = Arc<dyn Fn(&mut BackwardCall<'_>) -> Result<()> + Send + Sync>;

pub(crate) enum Hook {
    ForwardPre(ForwardPreHook),
    Forward(ForwardHook),
    /// Those of the backward pass go with the graph, which may go to another thread.
    BackwardPre(BackwardPreHook),
    Backward(BackwardHook),
    /// A hook that another folder registers, such as those around state dicts; found by its type.
    Typed(Rc<dyn Any>),
}

impl Hook {
    pub(crate) fn forward_pre<R: HookResult>(
        hook: impl Fn(&mut ForwardPreCall<'_>) -> R + 'static,
    ) -> Self {
        let run = Rc::new(move |call: &mut ForwardPreCall<'_>| hook(call).into_result());
        Self::ForwardPre(ForwardPreHook::Own(run))
    }

    pub(crate) fn forward<R: HookResult>(
        hook: impl Fn(&mut ForwardCall<'_>) -> R + 'static,
    ) -> Self {
        let run = Rc::new(move |call: &mut ForwardCall<'_>| hook(call).into_result());
        Self::Forward(ForwardHook::Own(run))
    }

    pub(crate) fn backward_pre<R: HookResult>(
        hook: impl Fn(&mut BackwardPreCall<'_>) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::BackwardPre(Arc::new(move |call| hook(call).into_result()))
    }

    pub(crate) fn backward<R: HookResult>(
        hook: impl Fn(&mut BackwardCall<'_>) -> R + Send + Sync + 'static,
    ) -> Self {
        Self::Backward(Arc::new(move |call| hook(call).into_result()))
    }
}
