use std::sync::{Arc, Mutex};

use super::Tensor;
use super::node::{Input, Node, Slot, lock};

use crate::{DType, Result, Shape};

/// One output of a graph node: where the gradient of a tensor goes.
#[derive(Clone)]
pub(crate) struct Edge {
    pub(crate) node: Arc<Node>,
    pub(crate) output: usize,
}

impl Edge {
    /// The edge to the first output, which is the only one of most operations.
    pub(crate) fn first(node: Arc<Node>) -> Self {
        Self { node, output: 0 }
    }

    pub(crate) fn is_leaf(&self) -> bool {
        self.node.is_leaf()
    }

    fn slot(&self) -> Option<&Mutex<Slot>> {
        self.node.slot(self.output)
    }

    /// Whether the gradient is accumulated here.
    pub(crate) fn keeps_grad(&self) -> bool {
        self.slot().is_some()
    }

    pub(crate) fn grad(&self) -> Option<Tensor> {
        self.slot().and_then(|slot| lock(slot).grad.clone())
    }

    /// Adds to the gradient that is accumulated here, under its lock, so that threads add up, and returns true; returns
    /// false if none is accumulated or the leaf is paused.
    pub(crate) fn accumulate(&self, grad: Tensor) -> Result<bool> {
        let Some(slot) = self.slot() else {
            return Ok(false);
        };
        let mut slot = lock(slot);
        if slot.paused {
            return Ok(false);
        }
        let before = slot.grad.take();
        let sum = match before {
            Some(before) if before.can_add_in_place(&grad) => {
                slot.grad = Some(before.add_in_place(&grad)?);
                return Ok(true);
            }
            Some(before) => {
                let sum = before.add(&grad);
                slot.grad = Some(before);
                sum?
            }
            None => grad,
        };
        let before = slot.grad.replace(sum);
        drop(slot);
        // Dropped after the lock: a gradient may hold a graph, and the graph users' functions.
        drop(before);
        Ok(true)
    }

    pub(crate) fn set_grad(&self, value: Option<Tensor>) {
        let before = self
            .slot()
            .map(|slot| std::mem::replace(&mut lock(slot).grad, value));
        drop(before);
    }

    /// Sets whether this leaf accumulates gradients; an existing gradient is kept.
    pub(crate) fn set_requires_grad(&self, requires_grad: bool) {
        if let Some(slot) = self.slot() {
            lock(slot).paused = !requires_grad;
        }
    }
}

impl Input {
    /// A tensor as an input, if it needs a gradient.
    #[inline]
    pub(crate) fn of(tensor: &Tensor) -> Option<Self> {
        let edge = tensor.edge.clone()?;
        Some(Self::new(edge, tensor.shape().clone(), tensor.dtype()))
    }

    pub(crate) fn new(edge: Edge, shape: Shape, dtype: DType) -> Self {
        let Edge { node, output } = edge;
        // The number of outputs fits `u32`: more handles would not fit in memory.
        let output = output as u32;
        Self {
            node,
            output,
            dtype,
            shape,
        }
    }

    /// The index of the output of the node.
    pub(crate) fn output(&self) -> usize {
        self.output as usize
    }

    pub(crate) fn edge(&self) -> Edge {
        let (node, output) = (self.node.clone(), self.output());
        Edge { node, output }
    }
}
