//! Whether the program has hooks at all.

use std::sync::atomic::{AtomicUsize, Ordering};

/// How many hooks the program has, on whatever thread: all that a call reads if there are none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Counts one more hook, of whatever kind.
pub(super) fn add() {
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Counts one hook less, of whatever kind.
pub(super) fn remove() {
    COUNT.fetch_sub(1, Ordering::Relaxed);
}

/// Whether any thread has any hook.
#[inline]
pub(crate) fn has_hooks() -> bool {
    COUNT.load(Ordering::Relaxed) > 0
}
