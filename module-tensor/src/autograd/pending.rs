//! The nodes that a pass has still to visit.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::tensor::{Node, Reached};

/// Nodes with the gradients that have reached their outputs.
///
/// The order is kept apart from the gradients, so that what a tree moves as it grows is small; and gradients stay
/// in their slot until they are used, because to move all of a node is a call of `memcpy`.
#[derive(Default)]
pub(super) struct Pending {
    /// The index of the slot of each node, by the order of the node.
    by_order: BTreeMap<u64, usize>,
    slots: Vec<Slot>,
    free: Vec<usize>,
}

struct Slot {
    /// `None` while the node is visited, and where there is none.
    node: Option<Arc<Node>>,
    reached: Reached,
}

impl Pending {
    /// The gradients that have reached a node so far.
    pub(super) fn reached(&mut self, node: &Arc<Node>) -> &mut Reached {
        let (slots, free) = (&mut self.slots, &mut self.free);
        let slot = *self.by_order.entry(node.order).or_insert_with(|| {
            let node = Some(node.clone());
            match free.pop() {
                Some(slot) => {
                    slots[slot].node = node;
                    slot
                }
                None => {
                    let reached = Reached::default();
                    slots.push(Slot { node, reached });
                    slots.len() - 1
                }
            }
        });
        self.at(slot)
    }

    /// Takes the node that was created last, and tells the slot of its gradients.
    pub(super) fn pop_last(&mut self) -> Option<(Arc<Node>, usize)> {
        let (_, slot) = self.by_order.pop_last()?;
        Some((self.slots[slot].node.take()?, slot))
    }

    /// Takes the node of this order, if it is here, and tells the slot of its gradients.
    pub(super) fn remove(&mut self, order: u64) -> Option<(Arc<Node>, usize)> {
        let slot = self.by_order.remove(&order)?;
        Some((self.slots[slot].node.take()?, slot))
    }

    /// The gradients in a slot.
    pub(super) fn at(&mut self, slot: usize) -> &mut Reached {
        &mut self.slots[slot].reached
    }

    /// Makes a slot free for another node.
    pub(super) fn release(&mut self, slot: usize) {
        self.at(slot).clear();
        self.free.push(slot);
    }
}
