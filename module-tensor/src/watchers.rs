//! Who watches what happens on a thread.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::thread::LocalKey;

/// The watchers of one thing, the last one registered last.
pub(crate) struct Watchers<W: ?Sized> {
    watched: Cell<bool>,
    watchers: RefCell<Vec<Rc<W>>>,
}

impl<W: ?Sized> Watchers<W> {
    pub(crate) const fn new() -> Self {
        Self {
            watched: Cell::new(false),
            watchers: RefCell::new(Vec::new()),
        }
    }
}

/// The current watchers; `None`, after checking a flag, if there are none. They are handles, so that a watcher may itself
/// watch or be shown something else meanwhile.
pub(crate) fn watching<W: ?Sized>(key: &'static LocalKey<Watchers<W>>) -> Option<Vec<Rc<W>>> {
    key.with(|all| all.watched.get().then(|| all.watchers.borrow().clone()))
}

/// Runs `f` with `watch` as one of them.
pub(crate) fn watch_while<W: ?Sized, R>(
    key: &'static LocalKey<Watchers<W>>,
    watch: Rc<W>,
    f: impl FnOnce() -> R,
) -> R {
    struct Remove<W: ?Sized + 'static>(&'static LocalKey<Watchers<W>>);

    impl<W: ?Sized> Drop for Remove<W> {
        fn drop(&mut self) {
            let removed = self.0.with(|all| {
                let mut watchers = all.watchers.borrow_mut();
                let removed = watchers.pop();
                all.watched.set(!watchers.is_empty());
                removed
            });
            // Dropped after the borrow: a closure may own anything.
            drop(removed);
        }
    }

    key.with(|all| {
        all.watchers.borrow_mut().push(watch);
        all.watched.set(true);
    });
    let _remove = Remove(key);
    f()
}
