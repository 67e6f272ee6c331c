use std::panic::Location;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::node::lock;
use super::recompute::{Place, next_registration};

/// Hooks in the order of registration.
pub(super) struct HookList<C>(Mutex<Vec<Hook<C>>>);

#[derive(Clone)]
pub(super) struct Hook<C> {
    number: u64,
    /// The number of handles, of which the last removes it.
    handles: usize,
    /// Where recomputed calls register it.
    places: Vec<Place>,
    pub(super) location: &'static Location<'static>,
    pub(super) callback: C,
}

impl<C> Default for HookList<C> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C: Clone> HookList<C> {
    /// Adds a hook, and returns its number.
    ///
    /// A recomputation that registers what the first run did adds none, but a handle of the same hook: the gradient
    /// comes once.
    pub(super) fn register(&self, location: &'static Location<'static>, callback: C) -> u64 {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let [first, again] = next_registration();
        let mut hooks = lock(&self.0);
        let is_it = |hook: &&mut Hook<C>| {
            again.is_some_and(|again| hook.places.contains(&again)) && hook.location == location
        };
        if let Some(hook) = hooks.iter_mut().find(is_it) {
            hook.handles += 1;
            hook.places.extend(first);
            return hook.number;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        hooks.push(Hook {
            number,
            handles: 1,
            places: [first, again].into_iter().flatten().collect(),
            location,
            callback,
        });
        number
    }

    /// Drops one handle of a hook, and removes the hook with the last.
    pub(super) fn remove(&self, number: u64) {
        let removed = {
            let mut hooks = lock(&self.0);
            let index = hooks.iter().position(|hook| hook.number == number);
            index.and_then(|index| {
                let handles = &mut hooks[index].handles;
                *handles = handles.saturating_sub(1);
                (*handles == 0).then(|| hooks.remove(index))
            })
        };
        // Dropped after the lock: the closure may own other handles.
        drop(removed);
    }

    /// The current hooks.
    pub(super) fn to_vec(&self) -> Vec<Hook<C>> {
        lock(&self.0).clone()
    }

    pub(super) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }
}
