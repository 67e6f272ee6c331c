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

/// What an operation of this thread belongs to: both for a first run inside a recomputation.
pub(super) struct Current<'a> {
    /// The frame whose first run this is.
    pub(super) frame: Option<&'a Arc<Frame>>,
    /// The run again of a frame.
    pub(super) run: Option<&'a mut Collected>,
}

impl<'a> Current<'a> {
    pub(super) fn of(modes: &'a mut [Mode]) -> Self {
        let (frame, run) = match modes {
            [.., Mode::Again(run), Mode::Inner(frame)] => (Some(&*frame), Some(run)),
            [.., Mode::First(frame) | Mode::Inner(frame)] => (Some(&*frame), None),
            [.., Mode::Again(run)] => (None, Some(run)),
            [] => (None, None),
        };
        Self { frame, run }
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
