//! The nodes that a pass has still to visit.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::tensor::{Node, Reached};

/// Nodes with the gradients that have reached their outputs.
///
/// The order is kept apart from the gradients, so that what a tree moves as it grows is small.
#[derive(Default)]
pub(super) struct Pending {
    /// The index of the slot of each node, by the order of the node.
    by_order: BTreeMap<u64, usize>,
    slots: Vec<Option<Entry>>,
    free: Vec<usize>,
}

type Entry = (Arc<Node>, Reached);

impl Pending {
    /// The gradients that have reached a node so far.
    pub(super) fn reached(&mut self, node: &Arc<Node>) -> &mut Reached {
        let slots = &mut self.slots;
        let free = &mut self.free;
        let slot = *self.by_order.entry(node.order).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                slots.push(None);
                slots.len() - 1
            })
        });
        let entry = self.slots[slot].get_or_insert_with(|| (node.clone(), Reached::new()));
        &mut entry.1
    }

    /// Takes the node that was created last.
    pub(super) fn pop_last(&mut self) -> Option<Entry> {
        let (_, slot) = self.by_order.pop_last()?;
        self.take(slot)
    }

    /// Takes the node of this order, if it is here.
    pub(super) fn remove(&mut self, order: u64) -> Option<Entry> {
        let slot = self.by_order.remove(&order)?;
        self.take(slot)
    }

    fn take(&mut self, slot: usize) -> Option<Entry> {
        self.free.push(slot);
        self.slots.get_mut(slot)?.take()
    }
}
