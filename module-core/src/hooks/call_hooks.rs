//! The hooks of one call, copied from where they are registered, which others may change meanwhile.

use std::panic::Location;
use std::sync::Arc;

use smallvec::SmallVec;

use super::hook::{BackwardHook, BackwardPreHook, ForwardPreHook};

/// A hook that is about to run, taken out of the registry, which others may change meanwhile.
pub(super) struct CallHook<H> {
    pub(super) number: i64,
    pub(super) always_call: bool,
    pub(super) path: Option<Arc<str>>,
    pub(super) place: &'static Location<'static>,
    pub(super) hook: H,
}

impl<H> CallHook<H> {
    pub(super) fn path(&self) -> &str {
        self.path.as_deref().unwrap_or_default()
    }
}

pub(super) type CallHooks<H> = SmallVec<[CallHook<H>; 1]>;

/// The hooks that a call reads as it starts.
#[derive(Default)]
pub(super) struct StartHooks {
    pub(super) forward_pre: CallHooks<ForwardPreHook>,
    pub(super) backward_pre: Vec<CallHook<BackwardPreHook>>,
    pub(super) backward: Vec<CallHook<BackwardHook>>,
}
