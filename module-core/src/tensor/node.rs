use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

use super::{Function, Tensor};
use crate::{DType, Result, Shape};

/// The inputs of an operation: where its gradients go, `None` for one that needs none.
pub(crate) type Inputs = SmallVec<[Option<Input>; 2]>;

/// An input that needs a gradient, and what that gradient must be like.
pub(crate) struct Input {
    pub(crate) node: Arc<Node>,
    pub(crate) shape: Shape,
    pub(crate) dtype: DType,
}

/// A place in the graph: a leaf that keeps its gradient, or an operation that passes it on.
///
/// **Invariant:** `order` is greater than that of every input, because inputs exist first; the
/// engine visits nodes by falling order and needs no other sorting.
pub(crate) struct Node {
    pub(crate) order: u64,
    pub(crate) kind: NodeKind,
}

pub(crate) enum NodeKind {
    Leaf(Mutex<Leaf>),
    Op(Op),
}

/// What a leaf keeps.
#[derive(Default)]
pub(crate) struct Leaf {
    grad: Option<Tensor>,
    /// Frozen after it entered a graph: the gradients of that graph are not for it.
    frozen: bool,
}

pub(crate) struct Op {
    pub(crate) name: &'static str,
    /// Taken by the backward pass, so that saved tensors are freed as it goes.
    pub(crate) function: Mutex<Option<Arc<dyn Function>>>,
    pub(crate) inputs: Inputs,
}

fn next_order() -> u64 {
    static ORDER: AtomicU64 = AtomicU64::new(0);
    ORDER.fetch_add(1, Ordering::Relaxed)
}

/// A lock whose holder panicked still guards a whole value: nothing here is left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    pub(crate) fn leaf() -> Arc<Self> {
        Arc::new(Self {
            order: next_order(),
            kind: NodeKind::Leaf(Mutex::default()),
        })
    }

    pub(crate) fn op(function: Arc<dyn Function>, inputs: Inputs) -> Arc<Self> {
        let name = function.name();
        let function = Mutex::new(Some(function));
        let kind = NodeKind::Op(Op {
            name,
            function,
            inputs,
        });
        Arc::new(Self {
            order: next_order(),
            kind,
        })
    }

    pub(crate) fn grad(&self) -> Option<Tensor> {
        match &self.kind {
            NodeKind::Leaf(leaf) => lock(leaf).grad.clone(),
            NodeKind::Op(_) => None,
        }
    }

    /// Adds to the gradient of this leaf unless it is frozen, under its lock, so that threads add
    /// up.
    pub(crate) fn accumulate(&self, grad: &Tensor) -> Result<()> {
        if let NodeKind::Leaf(leaf) = &self.kind {
            let mut leaf = lock(leaf);
            if !leaf.frozen {
                leaf.grad = Some(match &leaf.grad {
                    Some(before) => before.add(grad)?,
                    None => grad.clone(),
                });
            }
        }
        Ok(())
    }

    pub(crate) fn set_grad(&self, value: Option<Tensor>) {
        if let NodeKind::Leaf(leaf) = &self.kind {
            lock(leaf).grad = value;
        }
    }

    /// Freezes this leaf, which drops its gradient, or lets it collect gradients again.
    pub(crate) fn set_frozen(&self, frozen: bool) {
        if let NodeKind::Leaf(leaf) = &self.kind {
            let mut leaf = lock(leaf);
            leaf.frozen = frozen;
            if frozen {
                leaf.grad = None;
            }
        }
    }
}

/// What an operation owned, waiting to be dropped.
type Remains = (Inputs, Option<Arc<dyn Function>>);

thread_local! {
    /// Operations whose parts are still to be dropped, and whether somebody is dropping them.
    static REMAINS: RefCell<(Vec<Remains>, bool)> = const { RefCell::new((Vec::new(), false)) };
}

/// A graph is dropped in a loop: both the inputs and the saved tensors of an operation may hold
/// the last handle to the one before it, and a long chain would overflow the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let NodeKind::Op(op) = &mut self.kind else {
            return;
        };
        let function = op
            .function
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let mut remains = Some((std::mem::take(&mut op.inputs), function));
        let first = REMAINS.try_with(|queue| {
            let mut queue = queue.borrow_mut();
            queue.0.extend(remains.take());
            !std::mem::replace(&mut queue.1, true)
        });
        if first != Ok(true) {
            return;
        }
        // The borrow ends before each part is dropped, because dropping it comes back here.
        while let Ok(Some(part)) = REMAINS.try_with(|queue| queue.borrow_mut().0.pop()) {
            drop(part);
        }
        let _ = REMAINS.try_with(|queue| queue.borrow_mut().1 = false);
    }
}
