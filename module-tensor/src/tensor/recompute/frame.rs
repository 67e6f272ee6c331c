use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use super::super::{Node, lock};
use super::order::Order;
use crate::Result;

/// The place of the registration of a hook in a run of a recomputed call: the frame, and how many came before.
pub(in crate::tensor) type Place = (u64, usize);

/// A call whose operations are recomputed.
pub(super) struct Frame {
    /// A number that no other frame has.
    pub(super) number: u64,
    pub(super) again: Box<dyn Fn() -> Result<()> + Send + Sync>,
    /// The nodes of the operations in the order in which they were recorded. They own the frame.
    pub(super) nodes: Mutex<Vec<Recorded>>,
    /// The orders of the leaves that the first run made.
    leaves: Mutex<Vec<Order>>,
    /// The number of hooks that the first run has registered.
    registrations: AtomicUsize,
    /// Whether the first run has ended.
    ended: AtomicBool,
}

/// A node, and its order, by which it is found.
pub(super) struct Recorded {
    pub(super) order: Order,
    pub(super) node: Weak<Node>,
}

impl Frame {
    pub(super) fn new(again: impl Fn() -> Result<()> + Send + Sync + 'static) -> Arc<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            again: Box::new(again),
            nodes: Mutex::default(),
            leaves: Mutex::default(),
            registrations: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
        })
    }

    pub(super) fn push(&self, node: &Arc<Node>, order: Order) {
        let node = Arc::downgrade(node);
        lock(&self.nodes).push(Recorded { order, node });
    }

    pub(super) fn push_leaf(&self, order: Order) {
        lock(&self.leaves).push(order);
    }

    /// An order for a node of a later run in the place of one of the first.
    pub(super) fn order_in_place_of(&self, index: usize) -> Option<Order> {
        lock(&self.nodes).get(index)?.order.next()
    }

    /// The same for a leaf.
    pub(super) fn order_in_place_of_leaf(&self, index: usize) -> Option<Order> {
        lock(&self.leaves).get(index)?.next()
    }

    /// The place of the next hook that the first run registers.
    pub(super) fn next_registration(&self) -> Place {
        (
            self.number,
            self.registrations.fetch_add(1, Ordering::Relaxed),
        )
    }

    /// Ends the first run.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }
}
