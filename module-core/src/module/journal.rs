//! Records buffers that a call changes, so that a second run starts from the same values and leaves none changed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::TensorId;
use crate::Tensor;

/// A cell that holds a tensor.
pub(super) trait Cell: Send + Sync {
    fn get(&self) -> Tensor;
    fn put(&self, value: Tensor);
}

/// The changed buffers, with their previous values.
#[derive(Clone, Default)]
pub(crate) struct Journal(HashMap<TensorId, (Arc<dyn Cell>, Tensor)>);

/// Identifies the journal of a call.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct JournalId(u64);

impl JournalId {
    /// One that no other call has.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

thread_local! {
    /// The active journals, the innermost last.
    static OPEN: RefCell<Vec<(JournalId, Journal)>> = const { RefCell::new(Vec::new()) };
}

/// Records that a buffer is about to change.
pub(super) fn note<C: Cell + 'static>(id: TensorId, cell: &Arc<C>) {
    OPEN.with_borrow_mut(|open| {
        for (_, journal) in open {
            let entry = journal.0.entry(id);
            entry.or_insert_with(|| (cell.clone(), cell.get()));
        }
    });
}

/// The result of `f`, and the buffers that it changes on this thread.
pub(crate) fn record<R>(id: JournalId, f: impl FnOnce() -> R) -> (R, Journal) {
    struct Close;

    impl Drop for Close {
        fn drop(&mut self) {
            OPEN.with_borrow_mut(Vec::pop);
        }
    }

    OPEN.with_borrow_mut(|open| open.push((id, Journal::default())));
    let close = Close;
    let result = f();
    std::mem::forget(close);
    let journal = OPEN.with_borrow_mut(Vec::pop);
    (
        result,
        journal.map(|(_, journal)| journal).unwrap_or_default(),
    )
}

/// Runs `f` with the values from before a call that this thread is still recording, and then restores the current ones,
/// also of buffers that `f` is the first to change.
pub(crate) fn replay_open<R>(id: JournalId, f: impl FnOnce() -> R) -> R {
    let is_it = |(other, _): &&(JournalId, Journal)| *other == id;
    let open = OPEN.with_borrow(|open| open.iter().find(is_it).map(|(_, journal)| journal.clone()));
    let f = || {
        let (result, changed) = record(JournalId::new(), f);
        changed.restore();
        result
    };
    match open {
        Some(journal) => journal.replay(f),
        None => f(),
    }
}

impl Journal {
    /// Runs `f` with the previous values, and then restores the current ones.
    pub(crate) fn replay<R>(&self, f: impl FnOnce() -> R) -> R {
        struct PutBack(Vec<(Arc<dyn Cell>, Tensor)>);

        impl Drop for PutBack {
            fn drop(&mut self) {
                for (cell, value) in self.0.drain(..) {
                    cell.put(value);
                }
            }
        }

        let cells = self.0.values();
        let now = cells.map(|(cell, _)| (cell.clone(), cell.get()));
        let _put_back = PutBack(now.collect());
        self.restore();
        f()
    }

    /// Gives every buffer its previous value.
    fn restore(&self) {
        for (cell, before) in self.0.values() {
            cell.put(before.clone());
        }
    }
}
