//! The locks of work that is shared between threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// No code of users runs under these locks, and every change is one call.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
