use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::node::{ORDERS, next_order};

/// The order of a node, and of those that later runs put in its place: passes visit the nodes of any run as they visit those
/// of the first.
#[derive(Clone)]
pub(super) struct Order {
    pub(super) own: u64,
    /// The first in this place.
    first: u64,
    /// The number of others in this place, in all frames.
    others: Arc<AtomicU64>,
}

impl Order {
    /// That of a new node.
    pub(super) fn new() -> Self {
        let first = next_order();
        Self {
            own: first,
            first,
            others: Arc::default(),
        }
    }

    /// One for another node in this place, unless there are too many.
    pub(super) fn next(&self) -> Option<Self> {
        let number = self.others.fetch_add(1, Ordering::Relaxed) + 1;
        (number < ORDERS).then(|| Self {
            own: self.first + number,
            ..self.clone()
        })
    }
}
