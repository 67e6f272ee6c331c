use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::Function;

/// The functions of recomputed operations that a pass has not used yet, by the number of their frame.
type Functions = BTreeMap<u64, Vec<Option<Arc<dyn Function>>>>;

thread_local! {
    /// Those of the passes of this thread, the current one last.
    static PASSES: RefCell<Vec<Functions>> = const { RefCell::new(Vec::new()) };
}

/// Runs a pass, and then drops what it recomputed and did not use. A frame must not own that: it is owned by its nodes,
/// which saved tensors refer to.
pub(crate) fn in_pass<R>(pass: impl FnOnce() -> R) -> R {
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            // Dropped after the borrow: a function may own anything.
            let functions = PASSES.with_borrow_mut(Vec::pop);
            drop(functions);
        }
    }

    PASSES.with_borrow_mut(|passes| passes.push(Functions::new()));
    let _end = End;
    pass()
}

/// Takes the function of an operation, so that what it saved is freed as the pass proceeds.
pub(super) fn take(frame: u64, index: usize) -> Option<Arc<dyn Function>> {
    PASSES.with_borrow_mut(|passes| {
        let functions = passes.last_mut()?.get_mut(&frame)?;
        functions.get_mut(index)?.take()
    })
}

/// Keeps the functions of a frame for this pass.
pub(super) fn keep(frame: u64, functions: Vec<Arc<dyn Function>>) {
    let functions = functions.into_iter().map(Some).collect();
    let before = PASSES.with_borrow_mut(|passes| passes.last_mut()?.insert(frame, functions));
    drop(before);
}
