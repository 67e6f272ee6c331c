//! Values that one thread sees instead of those that parameters, buffers and extra states have.
//!
//! A read first checks a thread-local flag that says whether there are any. A write goes where the read came from, so that
//! code that runs meanwhile cannot change a module whose values are overridden.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::{IdMap, TensorId};
use crate::Tensor;

thread_local! {
    /// Whether this thread has any overrides.
    static ACTIVE: Cell<bool> = const { Cell::new(false) };
    /// The overrides of each scope, the innermost last.
    static SCOPES: RefCell<Vec<IdMap<TensorId, Tensor>>> = const { RefCell::new(Vec::new()) };
}

/// The value that this thread sees instead of a tensor's own.
#[inline]
pub(super) fn get(id: TensorId) -> Option<Tensor> {
    match ACTIVE.get() {
        true => find(id),
        false => None,
    }
}

#[inline(never)]
fn find(id: TensorId) -> Option<Tensor> {
    let found = SCOPES.try_with(|scopes| {
        let scopes = scopes.borrow();
        let found = scopes.iter().rev().find_map(|values| values.get(&id));
        found.cloned()
    });
    found.ok().flatten()
}

/// Exchanges the value that this thread sees instead of a tensor's own, if there is one. The caller drops the old one,
/// because a graph that it holds may run users' code.
pub(super) fn exchange(id: TensorId, value: &mut Tensor) -> bool {
    let exchanged = |scopes: &RefCell<Vec<IdMap<TensorId, Tensor>>>| {
        let mut scopes = scopes.borrow_mut();
        let found = scopes.iter_mut().rev().find_map(|own| own.get_mut(&id));
        found.map(|own| std::mem::swap(own, value)).is_some()
    };
    ACTIVE.get() && SCOPES.try_with(exchanged).unwrap_or(false)
}

/// A scope of overrides on one thread, from creation to drop. Scopes are dropped in reverse order of creation.
pub(crate) struct Overrides {
    not_send: PhantomData<*const ()>,
}

impl Overrides {
    pub(crate) fn new(values: impl IntoIterator<Item = (TensorId, Tensor)>) -> Self {
        let values = values.into_iter().collect();
        SCOPES.with(|scopes| scopes.borrow_mut().push(values));
        ACTIVE.set(true);
        let not_send = PhantomData;
        Self { not_send }
    }
}

/// The scopes that a thread was in at some moment.
pub(crate) struct Captured(Vec<IdMap<TensorId, Tensor>>);

impl Captured {
    /// The current scopes, with their current values.
    pub(crate) fn of_now() -> Self {
        match ACTIVE.get() {
            true => Self(SCOPES.with_borrow(Clone::clone)),
            false => Self(Vec::new()),
        }
    }

    /// Runs `f` in exactly these scopes. Its writes do not outlast it.
    pub(crate) fn run<R>(&self, f: impl FnOnce() -> R) -> R {
        struct PutBack(Vec<IdMap<TensorId, Tensor>>);

        impl Drop for PutBack {
            fn drop(&mut self) {
                let scopes = std::mem::take(&mut self.0);
                ACTIVE.set(!scopes.is_empty());
                // The tensors are dropped after the borrow of the list ends.
                drop(SCOPES.replace(scopes));
            }
        }

        let _put_back = PutBack(SCOPES.replace(self.0.clone()));
        ACTIVE.set(!self.0.is_empty());
        f()
    }
}

impl Drop for Overrides {
    fn drop(&mut self) {
        let ended = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.borrow_mut();
            let ended = scopes.pop();
            ACTIVE.set(!scopes.is_empty());
            ended
        });
        // The tensors are dropped after the borrow of the list ends.
        drop(ended);
    }
}
