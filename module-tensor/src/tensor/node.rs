use std::cell::{Cell, RefCell};
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use smallvec::SmallVec;

use super::grad_hook::GradHooks;
use super::{Function, Tensor};
use crate::{DType, Shape};

/// The inputs of an operation: where its gradients go, `None` for one that needs none.
pub(crate) type Inputs = SmallVec<[Option<Input>; 2]>;

/// An input that needs a gradient, and the required properties of that gradient. Its fields are those of an
/// [`Edge`](super::Edge) and of a tensor, in an order that wastes no memory: most operations have two, which are moved
/// together.
pub(crate) struct Input {
    pub(crate) node: Arc<Node>,
    pub(super) output: u32,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
}

/// A graph node: a leaf that accumulates its gradient, or an operation that passes on those of its outputs.
///
/// **Invariant:** `order` is greater than that of every input, because inputs exist first; the
/// engine visits nodes in descending order and needs no other sorting.
pub(crate) struct Node {
    pub(crate) order: u64,
    pub(crate) kind: NodeKind,
    /// One for each output; made with the first hook on its gradient.
    grad_hooks: SmallVec<[OnceLock<Box<GradHooks>>; 1]>,
}

pub(crate) enum NodeKind {
    Leaf(Mutex<Slot>),
    Op(Op),
}

/// The gradient that is accumulated at a leaf, or at an output whose gradient is retained.
#[derive(Default)]
pub(crate) struct Slot {
    pub(super) grad: Option<Tensor>,
    /// Whether accumulation is paused, even for graphs made before.
    pub(super) paused: bool,
}

pub(crate) struct Op {
    pub(crate) name: &'static str,
    /// Taken by the backward pass, so that saved tensors are freed as it proceeds.
    pub(crate) function: Mutex<Option<Arc<dyn Function>>>,
    pub(crate) inputs: Inputs,
}

/// The numbers from one order to the next, which those of a node that is computed again lie between.
pub(super) const ORDERS: u64 = 1 << 16;

/// A number greater than all previous ones, which 48 bits count.
pub(super) fn next_order() -> u64 {
    static ORDER: AtomicU64 = AtomicU64::new(0);
    ORDER.fetch_add(ORDERS, Ordering::Relaxed)
}

/// A lock whose holder panicked still guards a consistent value: nothing here is left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    /// Makes an operation with `outputs` outputs.
    pub(crate) fn op(function: Arc<dyn Function>, inputs: Inputs, outputs: usize) -> Arc<Self> {
        Self::op_at(next_order(), function, inputs, outputs)
    }

    /// Makes an operation with an order that is greater than those of its inputs.
    pub(super) fn op_at(
        order: u64,
        function: Arc<dyn Function>,
        inputs: Inputs,
        outputs: usize,
    ) -> Arc<Self> {
        let name = function.name();
        let function = Mutex::new(Some(function));
        let kind = NodeKind::Op(Op {
            name,
            function,
            inputs,
        });
        Self::new(order, kind, outputs)
    }

    #[inline]
    pub(super) fn new(order: u64, kind: NodeKind, outputs: usize) -> Arc<Self> {
        let mut grad_hooks = SmallVec::from_buf([OnceLock::new()]);
        if outputs != 1 {
            grad_hooks.resize_with(outputs, OnceLock::new);
        }
        Arc::new(Self {
            order,
            kind,
            grad_hooks,
        })
    }

    pub(crate) fn is_leaf(&self) -> bool {
        matches!(self.kind, NodeKind::Leaf(_))
    }

    /// Whether an output has hooks on its gradient, or retains it.
    pub(crate) fn has_grad_hooks(&self, output: usize) -> bool {
        self.grad_hooks_of(output).is_some()
    }

    /// The name of the operation, `leaf` for a leaf.
    pub(crate) fn name(&self) -> &'static str {
        match &self.kind {
            NodeKind::Leaf(_) => "leaf",
            NodeKind::Op(op) => op.name,
        }
    }

    /// The hooks on the gradient of an output, if there are any.
    pub(super) fn grad_hooks_of(&self, output: usize) -> Option<&GradHooks> {
        Some(&**self.grad_hooks.get(output)?.get()?)
    }

    /// The hooks on the gradient of an output, made if there are none.
    pub(super) fn make_grad_hooks(&self, output: usize) -> Option<&GradHooks> {
        Some(&**self.grad_hooks.get(output)?.get_or_init(Box::default))
    }

    /// Whether it is a paused leaf, without a hook that needs its gradient.
    pub(super) fn ignores_grad(&self) -> bool {
        match &self.kind {
            NodeKind::Leaf(slot) => lock(slot).paused && self.grad_hooks_of(0).is_none(),
            NodeKind::Op(_) => false,
        }
    }

    /// The slot that keeps the gradient of an output, if there is one.
    pub(crate) fn slot(&self, output: usize) -> Option<&Mutex<Slot>> {
        match &self.kind {
            NodeKind::Leaf(slot) => Some(slot),
            NodeKind::Op(_) => self.grad_hooks_of(output)?.kept.get(),
        }
    }
}

/// The parts of an operation that wait to be dropped.
type DeferredDrop = (
    Inputs,
    Option<Arc<dyn Function>>,
    SmallVec<[OnceLock<Box<GradHooks>>; 1]>,
);

thread_local! {
    /// Whether an operation is being dropped.
    static DROPPING: Cell<bool> = const { Cell::new(false) };
    /// The possessions of operations whose drop was caused by that of another operation.
    static DEFERRED_DROPS: RefCell<Vec<DeferredDrop>> = const { RefCell::new(Vec::new()) };
}

/// A graph is dropped in a loop: both the inputs and the saved tensors of an operation may hold the last handle to the
/// previous one, and a long chain would overflow the stack.
impl Drop for Node {
    fn drop(&mut self) {
        let NodeKind::Op(op) = &mut self.kind else {
            return;
        };
        let function = op.function.get_mut();
        let function = function.unwrap_or_else(PoisonError::into_inner);
        match DROPPING.try_with(|dropping| dropping.replace(true)) {
            Ok(false) => {}
            Ok(true) => {
                let (inputs, grad_hooks) = (take(&mut op.inputs), take(&mut self.grad_hooks));
                let parts = (inputs, function.take(), grad_hooks);
                let _ = DEFERRED_DROPS.try_with(|queue| queue.borrow_mut().push(parts));
                return;
            }
            // The thread is ending.
            Err(_) => return,
        }
        // A function that panics in its drop must not keep the others from being dropped.
        let first = catch_unwind(AssertUnwindSafe(|| {
            op.inputs.clear();
            drop(function.take());
            self.grad_hooks.clear();
        }));
        let mut panicked = first.err();
        // The borrow ends before each part is dropped, because dropping it comes back here.
        while let Ok(Some(part)) = DEFERRED_DROPS.try_with(|queue| queue.borrow_mut().pop()) {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(part))) {
                panicked.get_or_insert(panic);
            }
        }
        let _ = DROPPING.try_with(|dropping| dropping.set(false));
        match panicked {
            // A second panic during the unwinding of the first would abort the process.
            Some(panic) if !std::thread::panicking() => resume_unwind(panic),
            _ => {}
        }
    }
}
