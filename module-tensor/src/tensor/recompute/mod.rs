//! Operations that keep nothing for their gradients, and are recomputed in the backward pass.
//!
//! The graph is the one that there would be otherwise. Only what its functions saved is dropped: each function is a
//! [`Recomputed`], which runs all operations of its [`Frame`] again when the first of them is asked for gradients.
//! The tensors of that run are outputs of the nodes that there are, and the functions that it makes take the places of those
//! that were dropped, in the order in which they were recorded. So hooks, the order in which gradients are added, and
//! second derivatives are those of the graph.
//!
//! A call may compute gradients itself. Its first run then runs it again up to there, and so does every later run with the
//! functions that it has made so far ([`recomputed_function`]). A node that nothing needs any more, or that has a leaf
//! which the call makes, is a new one in each run, at the same place in the order of nodes ([`Order`]).

mod collected;
mod frame;
mod modes;
mod order;
mod pass;
mod recomputed;

use std::sync::Arc;

use self::collected::Collected;
use self::frame::Frame;
pub(super) use self::frame::Place;
use self::modes::{Current, DEPTH, Entered, MODES, Mode};
use self::order::Order;
pub(crate) use self::pass::in_pass;
use self::recomputed::Recomputed;
use super::node::{Inputs, next_order};
use super::{Function, Node, is_grad_enabled};
use crate::Result;

/// Runs `first` without keeping what its operations save for their gradients. A backward pass through them runs `again`,
/// which must do what `first` did: the same operations on the same values, in the same order. The gradients are then
/// bit-identical to those without recomputation.
///
/// Each backward pass runs it once; one that `first` itself runs does so too. A hook that it registers on a tensor is the
/// one that `first` registered there. Inside another `recompute_in_backward`, `first` is part of the outer recomputation, and
/// runs a third time if a gradient passes through it. If nothing is recorded, `first` just runs.
///
/// `module_core::activation_checkpoint::checkpoint` is this with inputs and random numbers that are the same both times.
///
/// # Errors
///
/// Those of `first`. In the backward pass those of `again`, and
/// [`AutogradError::Recomputed`](crate::AutogradError::Recomputed) if it does something else.
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
    let mode = match MODES.with_borrow(|modes| modes.last().map(Mode::is_again)) {
        None => Mode::First,
        Some(true) => Mode::Inner,
        // The enclosing frame runs all of this again.
        Some(false) => return first(),
    };
    let frame = Frame::new(again);
    let mode = Entered::new(mode(frame.clone()));
    let result = first();
    drop(mode);
    frame.end();
    result
}

/// The node of a recorded operation, depending on the mode of this thread.
pub(super) fn node(function: Arc<dyn Function>, inputs: Inputs, outputs: usize) -> Arc<Node> {
    if DEPTH.get() == 0 {
        return Node::op(function, inputs, outputs);
    }
    MODES.with_borrow_mut(|modes| {
        let Current { frame, run } = Current::of(modes);
        let function = match frame {
            Some(frame) => Recomputed::next(frame, function.name()),
            None => function,
        };
        let (node, order) = match run {
            Some(run) => run.node(function, inputs, outputs),
            None => {
                let order = Order::new();
                let node = Node::op_at(order.own, function, inputs, outputs);
                (node, order)
            }
        };
        if let Some(frame) = frame {
            frame.push(&node, order);
        }
        node
    })
}

/// The order of a leaf that is made.
pub(super) fn leaf_order() -> u64 {
    if DEPTH.get() == 0 {
        return next_order();
    }
    MODES.with_borrow_mut(|modes| {
        let Current { frame, run } = Current::of(modes);
        let order = run.map_or_else(Order::new, Collected::leaf_order);
        let own = order.own;
        if let Some(frame) = frame {
            frame.push_leaf(order);
        }
        own
    })
}

/// The function of an operation in a pass that a recomputation runs: that which it has made itself. That of the first run
/// is freed when its own pass has used it.
pub(crate) fn recomputed_function(node: &Node) -> Option<Arc<dyn Function>> {
    if DEPTH.get() == 0 {
        return None;
    }
    MODES.with_borrow_mut(|modes| {
        let mut running = modes.iter_mut().rev().filter_map(|mode| match mode {
            Mode::Again(collected) => Some(collected),
            Mode::First(_) | Mode::Inner(_) => None,
        });
        running.find_map(|collected| collected.function_of(node))
    })
}

/// The next registration of a hook in the runs of this thread: in the one that is recorded, and in the one that is run
/// again.
pub(super) fn next_registration() -> [Option<Place>; 2] {
    if DEPTH.get() == 0 {
        return [None; 2];
    }
    MODES.with_borrow_mut(|modes| {
        let Current { frame, run } = Current::of(modes);
        let in_frame = frame.map(|frame| frame.next_registration());
        [in_frame, run.map(Collected::next_registration)]
    })
}
