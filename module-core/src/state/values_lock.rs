//! The lock between loads and state dicts: a state dict never holds half of a load.
//!
//! Modules have no field for a lock, so one lock serves the process. It is held while handles are read or exchanged, which
//! takes microseconds, and never while hooks run or tensors are dropped, which may run users' code.

use std::sync::{PoisonError, RwLock};

static VALUES: RwLock<()> = RwLock::new(());

/// Reads values while no load sets some of them.
pub(super) fn read<R>(f: impl FnOnce() -> R) -> R {
    let _held = VALUES.read().unwrap_or_else(PoisonError::into_inner);
    f()
}

/// Sets values that are read all or not at all.
pub(super) fn write<R>(f: impl FnOnce() -> R) -> R {
    let _held = VALUES.write().unwrap_or_else(PoisonError::into_inner);
    f()
}
