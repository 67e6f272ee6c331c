//! Records buffers that a call changes, so that a second run starts from the same values and leaves none changed.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use super::TensorId;
use crate::Tensor;

/// A cell that holds a tensor.
pub(super) trait Cell: Send + Sync {
    fn get(&self) -> Tensor;
    fn put(&self, value: Tensor);
}

/// The changed buffers, with their previous values.
#[derive(Default)]
pub(crate) struct Journal(HashMap<TensorId, (Arc<dyn Cell>, Tensor)>);

thread_local! {
    /// The active journals, the innermost last.
    static OPEN: RefCell<Vec<Journal>> = const { RefCell::new(Vec::new()) };
}

/// Records that a buffer is about to change.
pub(super) fn note<C: Cell + 'static>(id: TensorId, cell: &Arc<C>) {
    OPEN.with_borrow_mut(|open| {
        for journal in open {
            let entry = journal.0.entry(id);
            entry.or_insert_with(|| (cell.clone(), cell.get()));
        }
    });
}

/// The result of `f`, and the buffers that it changes on this thread.
pub(crate) fn record<R>(f: impl FnOnce() -> R) -> (R, Journal) {
    struct Close;

    impl Drop for Close {
        fn drop(&mut self) {
            OPEN.with_borrow_mut(Vec::pop);
        }
    }

    OPEN.with_borrow_mut(|open| open.push(Journal::default()));
    let close = Close;
    let result = f();
    std::mem::forget(close);
    let journal = OPEN.with_borrow_mut(Vec::pop);
    (result, journal.unwrap_or_default())
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
        for (cell, before) in self.0.values() {
            cell.put(before.clone());
        }
        f()
    }
}
