//! Errors that arrive after the call that asked for the work.

use std::cell::RefCell;
use std::fmt;
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// The operations for which this thread calls the driver.
    static ASKED: RefCell<Operations> = const { RefCell::new(Operations(Vec::new())) };
}

/// Operations that the driver is asked for together, each once.
#[derive(Clone, Default)]
pub(crate) struct Operations(Vec<&'static str>);

/// The operations that an error lists at most.
const LISTED: usize = 8;

impl Operations {
    pub(crate) fn add(&mut self, op: &'static str) {
        if !self.0.contains(&op) {
            self.0.push(op);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl fmt::Display for Operations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [] => f.write_str("synchronize"),
            [op] => f.write_str(op),
            all => {
                let listed = &all[..all.len().min(LISTED)];
                write!(f, "one of {}", listed.join(", "))?;
                match all.len() - listed.len() {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }?;
                f.write_str(" (`Gpu::set_group_size(1)` finds which)")
            }
        }
    }
}

/// Names the operation for which this thread calls the driver from now on, for errors of the driver.
pub(crate) fn asks_for(op: &'static str) {
    ASKED.with_borrow_mut(|asked| {
        asked.clear();
        asked.add(op);
    });
}

/// Names the operations that this thread hands over to the driver.
pub(crate) fn asks_for_all(operations: &Operations) {
    ASKED.with_borrow_mut(|asked| asked.clone_from(operations));
}

/// The first error since the last wait.
#[derive(Default)]
pub(crate) struct Failures(Mutex<Option<String>>);

impl Failures {
    /// Keeps an error of the driver until the next wait, with the operations that were asked for.
    pub(crate) fn keep(&self, error: &str) {
        let asked = ASKED.with_borrow(Operations::to_string);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert_with(|| format!("{asked}: {error}"));
    }

    pub(crate) fn take(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
