//! Operations that keep nothing for their gradients, and are recomputed in the backward pass.
//!
//! The graph is the one that there would be otherwise. Only what its functions saved is dropped: each function is a
//! [`Recomputed`], which runs all operations of its [`Frame`] again when the first of them is asked for gradients.
//! That run makes no nodes: its tensors are outputs of the nodes that there are, and the functions that it makes
//! take the places of those that were dropped, in the order in which they were recorded. So hooks, the order in
//! which gradients are added, and second derivatives are those of the graph.

use std::cell::{Cell, RefCell};
use std::mem::replace;
use std::sync::{Arc, Mutex, Weak};

use super::node::Inputs;
use super::{
    Backward, Function, Gradients, Input, Node, NodeKind, is_grad_enabled, lock, with_grad_mode,
};
use crate::{AutogradError, Result};

/// Runs `first` without keeping what its operations save for their gradients. A backward pass through them runs `again`,
/// which must do what `first` did: the same operations on the same values, in the same order. The gradients are then
/// bit-identical to those without recomputation.
///
/// Each backward pass runs it once. Inside another `recompute_in_backward`, `first` is part of the outer recomputation, and
/// runs a third time if a gradient passes through it. If nothing is recorded, `first` just runs.
///
/// `module_core::activation_checkpoint::checkpoint` is this with inputs and random numbers that are the same both times.
///
/// # Errors
///
/// Those of `first`. In the backward pass those of `again`, and [`AutogradError::Recomputed`] if it does something else.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, recompute_in_backward};
///
/// let x = Tensor::from([1.0_f32, 2.0]).with_grad()?;
/// let input = x.clone();
/// let run = move || input.exp()?.mul(&input)?.sum(..);
/// let y = recompute_in_backward(run.clone(), move || run().map(drop))?;
/// y.backward()?;
/// let plain = Tensor::from([1.0_f32, 2.0]).with_grad()?;
/// plain.exp()?.mul(&plain)?.sum(..)?.backward()?;
/// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, plain.grad().unwrap().to_vec::<f32>()?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn recompute_in_backward<R>(
    first: impl FnOnce() -> Result<R>,
    again: impl Fn() -> Result<()> + Send + Sync + 'static,
) -> Result<R> {
    if !is_grad_enabled() {
        return first();
    }
    let mode = MODES.with_borrow(|modes| match modes.last() {
        None => Some(Mode::First(Frame::new(again))),
        Some(Mode::Again(_)) => Some(Mode::Inner(Frame::new(again))),
        // The enclosing frame runs all of this again.
        Some(Mode::First(_) | Mode::Inner(_)) => None,
    });
    let _mode = mode.map(Entered::new);
    first()
}

/// How the operations of this thread are recorded.
enum Mode {
    /// They are made, and what they saved is dropped.
    First(Arc<Frame>),
    /// They already exist, and what they save is collected.
    Again(Collected),
    /// They already exist; this is a first run inside an outer recomputation.
    Inner(Arc<Frame>),
}

thread_local! {
    /// The modes of this thread, the current one last.
    static MODES: RefCell<Vec<Mode>> = const { RefCell::new(Vec::new()) };
    /// The number of modes, which each operation reads.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// A mode of this thread, for the lifetime of this guard.
struct Entered(());

impl Entered {
    fn new(mode: Mode) -> Self {
        MODES.with_borrow_mut(|modes| modes.push(mode));
        DEPTH.set(DEPTH.get() + 1);
        Self(())
    }

    /// Ends the mode.
    fn leave(self) -> Option<Mode> {
        std::mem::forget(self);
        Self::pop()
    }

    fn pop() -> Option<Mode> {
        DEPTH.set(DEPTH.get().saturating_sub(1));
        MODES.with_borrow_mut(Vec::pop)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        drop(Self::pop());
    }
}

/// A call whose operations are recomputed.
struct Frame {
    again: Box<dyn Fn() -> Result<()> + Send + Sync>,
    /// The nodes of the operations in the order in which they were recorded. They own the frame.
    nodes: Mutex<Vec<Weak<Node>>>,
    /// The functions of the operations, from a recomputation until a backward pass has used them.
    functions: Mutex<Vec<Option<Arc<dyn Function>>>>,
}

impl Frame {
    fn new(again: impl Fn() -> Result<()> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self {
            again: Box::new(again),
            nodes: Mutex::default(),
            functions: Mutex::default(),
        })
    }

    /// The number of the next node, and a function that stands for its own.
    fn stand_in(self: &Arc<Self>, op: &'static str) -> Arc<dyn Function> {
        let (frame, index) = (self.clone(), lock(&self.nodes).len());
        Arc::new(Recomputed { frame, index, op })
    }

    fn push(&self, node: &Arc<Node>) {
        lock(&self.nodes).push(Arc::downgrade(node));
    }

    /// Takes the function of an operation, so that what it saved is freed as the pass proceeds; if it was already taken, or
    /// never computed, all are recomputed.
    fn take(self: &Arc<Self>, index: usize, op: &'static str) -> Result<Arc<dyn Function>> {
        let take = |functions: &mut Vec<Option<_>>| functions.get_mut(index).and_then(Option::take);
        if let Some(function) = take(&mut lock(&self.functions)) {
            return Ok(function);
        }
        let mut functions = self.run_again(op)?.into_iter().map(Some).collect();
        let function = take(&mut functions);
        let before = replace(&mut *lock(&self.functions), functions);
        drop(before);
        function.ok_or(AutogradError::GraphFreed { op }.into())
    }

    fn run_again(self: &Arc<Self>, op: &'static str) -> Result<Vec<Arc<dyn Function>>> {
        let entered = Entered::new(Mode::Again(Collected {
            frame: self.clone(),
            functions: Vec::new(),
            problem: None,
        }));
        with_grad_mode(true, || (self.again)())?;
        let Some(Mode::Again(collected)) = entered.leave() else {
            return Err(AutogradError::GraphFreed { op }.into());
        };
        let (before, now) = (lock(&self.nodes).len(), collected.functions.len());
        let fewer = || format!("{now} operation(s), and {before} at first");
        match collected.problem.or_else(|| (now != before).then(fewer)) {
            None => Ok(collected.functions),
            Some(problem) => Err(AutogradError::Recomputed { op, problem }.into()),
        }
    }
}

/// The function of an operation whose own function was dropped.
struct Recomputed {
    frame: Arc<Frame>,
    index: usize,
    op: &'static str,
}

impl Function for Recomputed {
    fn name(&self) -> &'static str {
        self.op
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        self.frame.take(self.index, self.op)?.backward(ctx)
    }
}

/// The results of a recomputation.
struct Collected {
    frame: Arc<Frame>,
    functions: Vec<Arc<dyn Function>>,
    /// The first difference from the first run.
    problem: Option<String>,
}

impl Collected {
    /// The node of the next operation, unless nothing needed it.
    fn node(&mut self, op: &'static str, inputs: &Inputs) -> Option<Arc<Node>> {
        let index = self.functions.len();
        let known = lock(&self.frame.nodes).get(index).cloned();
        let Some(known) = known else {
            let more = || format!("`{op}` as operation {index}, behind the last at first");
            self.problem.get_or_insert_with(more);
            return None;
        };
        let node = known.upgrade()?;
        let NodeKind::Op(before) = &node.kind else {
            return Some(node);
        };
        if before.name != op || !are_alike(&before.inputs, inputs) {
            let (now, then) = (describe(inputs), describe(&before.inputs));
            let other = || {
                let name = before.name;
                format!("`{op}` of {now} as operation {index}, and `{name}` of {then} at first")
            };
            self.problem.get_or_insert_with(other);
            return None;
        }
        Some(node)
    }
}

/// Whether both get gradients of the same kinds.
fn are_alike(before: &Inputs, now: &Inputs) -> bool {
    let like = |(a, b): (&Option<Input>, &Option<Input>)| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.shape == b.shape && a.dtype == b.dtype,
        _ => false,
    };
    before.len() == now.len() && before.iter().zip(now).all(like)
}

fn describe(inputs: &Inputs) -> String {
    let each = inputs.iter().map(|input| match input {
        Some(input) => format!("{} {}", input.dtype, input.shape),
        None => "an untracked tensor".to_owned(),
    });
    each.collect::<Vec<_>>().join(" and ")
}

/// The node of a recorded operation, depending on the mode of this thread.
pub(super) fn node(function: Arc<dyn Function>, inputs: Inputs, outputs: usize) -> Arc<Node> {
    if DEPTH.get() == 0 {
        return Node::op(function, inputs, outputs);
    }
    let op = function.name();
    MODES.with_borrow_mut(|modes| match &mut modes[..] {
        [.., Mode::Again(outer), Mode::Inner(frame)] => {
            let known = outer.node(op, &inputs);
            let stand_in = frame.stand_in(op);
            outer.functions.push(stand_in.clone());
            let node = known.unwrap_or_else(|| Node::op(stand_in, inputs, outputs));
            frame.push(&node);
            node
        }
        [.., Mode::First(frame)] => {
            let node = Node::op(frame.stand_in(op), inputs, outputs);
            frame.push(&node);
            node
        }
        [.., Mode::Again(collected)] => {
            let known = collected.node(op, &inputs);
            collected.functions.push(function.clone());
            known.unwrap_or_else(|| Node::op(function.clone(), inputs, outputs))
        }
        _ => Node::op(function.clone(), inputs, outputs),
    })
}
