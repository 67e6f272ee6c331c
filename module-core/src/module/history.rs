use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use smallvec::SmallVec;

use super::Init;

/// How many initializers a parameter remembers, including the last one.
const MAX_REMEMBERED: usize = 16;

/// A number greater than all previous ones.
fn next_order() -> u64 {
    static ORDER: AtomicU64 = AtomicU64::new(0);
    ORDER.fetch_add(1, Ordering::Relaxed)
}

/// One application of an initializer.
#[derive(Clone)]
pub(super) struct Draw {
    /// The position in the order of all draws; equal for parameters that are drawn together. A draw that was moved before
    /// another one has its number and `false`.
    pub(super) order: (u64, bool),
    /// The random stream that it came from.
    stream: u64,
    pub(super) init: Arc<dyn Init>,
}

impl Draw {
    /// The next draw of all.
    pub(super) fn next(init: Arc<dyn Init>, stream: u64) -> Self {
        Self {
            order: (next_order(), true),
            stream,
            init,
        }
    }

    /// Whether both are the same draw, shared by several parameters.
    pub(super) fn is_one_with(&self, other: &Self) -> bool {
        self.order == other.order && Arc::ptr_eq(&self.init, &other.init)
    }
}

/// The initializers of a parameter, oldest first.
///
/// All but the last were overwritten, but they advanced the generator, so repeating a construction must draw them too.
/// Draws overwritten before the generator was last seeded are not part of what its seed repeats, and are forgotten; so is
/// the oldest of more than [`MAX_REMEMBERED`].
#[derive(Clone, Default)]
pub(super) struct History(pub(super) SmallVec<[Draw; 1]>);

impl History {
    pub(super) fn of(draw: Draw) -> Self {
        Self(SmallVec::from_iter([draw]))
    }

    pub(super) fn push(&mut self, draw: Draw) {
        self.0.retain(|old| old.stream == draw.stream);
        if self.0.len() >= MAX_REMEMBERED {
            self.0.remove(0);
        }
        self.0.push(draw);
    }

    pub(super) fn last(&self) -> Option<&Draw> {
        self.0.last()
    }

    /// Moves the last draw directly before that of another parameter.
    pub(super) fn put_before(&mut self, next: &Self) {
        if let (Some(own), Some(next)) = (self.0.last_mut(), next.0.last()) {
            own.order = (next.order.0, false);
        }
    }
}
