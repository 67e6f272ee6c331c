//! Errors that arrive after the call that asked for the work.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// The operation that this thread asks for.
    static ASKED: Cell<&'static str> = const { Cell::new("synchronize") };
}

/// Names the operation that this thread asks for, for errors of the driver.
pub(crate) fn asks_for(op: &'static str) {
    ASKED.set(op);
}

/// The first error since the last wait.
#[derive(Default)]
pub(crate) struct Failures(Mutex<Option<String>>);

impl Failures {
    /// Keeps an error of the driver until the next wait, with the operation that was asked for.
    pub(crate) fn keep(&self, error: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert_with(|| format!("{}: {error}", ASKED.get()));
    }

    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
