use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Tensor;

/// Gradients that nodes put down for another node of the same backward pass, each list under a key
/// of its own: how a node with several outputs is made of nodes with one.
///
/// It belongs to the pass, so that passes that run at once, or fail half way, share nothing.
#[derive(Default)]
pub(crate) struct Shelf(RefCell<BTreeMap<u64, Vec<Option<Tensor>>>>);

impl Shelf {
    /// `count` keys that nobody else has; the first of them.
    pub(crate) fn keys(count: u64) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(count, Ordering::Relaxed)
    }

    /// Puts a gradient down at its place in the list of `key`, which has `len` places.
    pub(crate) fn put_one(&self, key: u64, len: usize, place: usize, grad: Tensor) {
        let mut lists = self.0.borrow_mut();
        let list = lists.entry(key).or_insert_with(|| vec![None; len]);
        let before = list.get_mut(place).and_then(|slot| slot.replace(grad));
        drop(lists);
        // After the borrow: a gradient may hold a graph, and that functions of users.
        drop(before);
    }

    /// Puts a whole list down.
    pub(crate) fn put(&self, key: u64, list: Vec<Option<Tensor>>) {
        let before = self.0.borrow_mut().insert(key, list);
        drop(before);
    }

    /// Takes the list of `key` away, if there is one.
    pub(crate) fn take(&self, key: u64) -> Option<Vec<Option<Tensor>>> {
        self.0.borrow_mut().remove(&key)
    }
}
