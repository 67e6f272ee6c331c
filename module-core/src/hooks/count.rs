//! How many hooks there are: what calls read before they look for any.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many hooks the program has, on whatever thread: all that a call reads if there are none.
static ALL: AtomicUsize = AtomicUsize::new(0);

/// How many of them calls on any thread look for: those that run on every thread, and those that run on one, which
/// calls on others miss.
static FOR_OTHERS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many of these run on this thread alone.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// Counts one more hook, of whatever kind.
pub(super) fn add() {
    ALL.fetch_add(1, Ordering::Relaxed);
}

/// Counts one hook less, of whatever kind.
pub(super) fn remove() {
    ALL.fetch_sub(1, Ordering::Relaxed);
}

/// Counts one more hook that runs on every thread.
pub(super) fn add_shared() {
    add();
    FOR_OTHERS.fetch_add(1, Ordering::Relaxed);
}

/// Counts one less of these.
pub(super) fn remove_shared() {
    remove();
    FOR_OTHERS.fetch_sub(1, Ordering::Relaxed);
}

/// Counts a hook of this thread, which is counted already, as one that calls on others miss.
pub(super) fn add_missable() {
    FOR_OTHERS.fetch_add(1, Ordering::Relaxed);
    OWN.set(OWN.get() + 1);
}

/// Counts one less of these, on the same thread.
pub(super) fn remove_missable() {
    FOR_OTHERS.fetch_sub(1, Ordering::Relaxed);
    let _ = OWN.try_with(|own| own.set(own.get().saturating_sub(1)));
}

/// Whether any thread has any hook.
#[inline]
pub(crate) fn has_hooks() -> bool {
    ALL.load(Ordering::Relaxed) > 0
}

/// Whether there are hooks that run on every thread, or on another one.
#[inline]
pub(super) fn others_have_hooks() -> bool {
    let own = OWN.try_with(Cell::get).unwrap_or_default();
    FOR_OTHERS.load(Ordering::Relaxed) > own
}
