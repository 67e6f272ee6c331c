use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::collected::Collected;
use super::frame::Frame;

/// How the operations of this thread are recorded.
pub(super) enum Mode {
    /// They are made, and what they saved is dropped.
    First(Arc<Frame>),
    /// They already exist, and what they save is collected.
    Again(Collected),
    /// They already exist; this is a first run inside an outer recomputation.
    Inner(Arc<Frame>),
}

impl Mode {
    pub(super) fn is_again(&self) -> bool {
        matches!(self, Self::Again(_))
    }
}

thread_local! {
    /// The modes of this thread, the current one last.
    pub(super) static MODES: RefCell<Vec<Mode>> = const { RefCell::new(Vec::new()) };
    /// The number of modes, which each operation reads.
    pub(super) static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A mode of this thread, for the lifetime of this guard.
pub(super) struct Entered(());

impl Entered {
    pub(super) fn new(mode: Mode) -> Self {
        MODES.with_borrow_mut(|modes| modes.push(mode));
        DEPTH.set(DEPTH.get() + 1);
        Self(())
    }

    /// Begins a recomputation, unless one of the same frame is running on this thread.
    pub(super) fn unless_running(run: Collected) -> Option<Self> {
        let runs = |mode: &Mode| matches!(mode, Mode::Again(other) if other.frame.number == run.frame.number);
        let running = MODES.with_borrow(|modes| modes.iter().any(runs));
        (!running).then(|| Self::new(Mode::Again(run)))
    }

    /// Ends the mode.
    pub(super) fn leave(self) -> Option<Mode> {
        std::mem::forget(self);
        Self::pop()
    }

    fn pop() -> Option<Mode> {
        DEPTH.set(DEPTH.get().saturating_sub(1));
        MODES.with_borrow_mut(Vec::pop)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        drop(Self::pop());
    }
}
