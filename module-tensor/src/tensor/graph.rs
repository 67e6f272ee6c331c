//! The graph behind a tensor, to be read.

use std::fmt;
use std::sync::Arc;

use super::{Edge, Node, NodeKind, Tensor};
use crate::{DType, Device, Result, Shape};

/// A place in the graph that computed a tensor: PyTorch's `grad_fn`, and of a leaf what stands for
/// it there (`AccumulateGrad`).
///
/// Two are equal if they are the same place. It keeps its place and all before it alive.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::from(2.0_f32).with_grad()?;
/// let y = x.exp()?.mul(&x)?;
/// let node = y.graph_node().unwrap();
/// let inputs: Vec<_> = node.next_functions().into_iter().flatten().collect();
/// assert_eq!((node.name(), inputs[0].name()), ("mul", "exp"));
/// assert_eq!(Some(&inputs[1]), x.graph_node().as_ref());
/// assert!(y.detach().graph_node().is_none());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct GraphNode(Arc<Node>);

impl GraphNode {
    /// A number that no other place in this process has.
    pub fn id(&self) -> u64 {
        self.0.order
    }

    /// The name of the operation, `leaf` for a leaf.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// Where the gradients of the operation's inputs go, `None` for one that needs none; empty for
    /// a leaf.
    pub fn next_functions(&self) -> Vec<Option<Self>> {
        match &self.0.kind {
            NodeKind::Leaf(_) => Vec::new(),
            NodeKind::Op(op) => {
                let inputs = op.inputs.iter();
                inputs
                    .map(|input| Some(Self(input.as_ref()?.edge.node.clone())))
                    .collect()
            }
        }
    }
}

impl GraphNode {
    /// A tensor without elements that stands for output `place` of the operation: its gradient goes there.
    ///
    /// The operation may have been recorded with fewer outputs. An operation recorded later that names it
    /// among its inputs so passes gradients to this one, for which its outputs have no other place.
    ///
    /// # Errors
    ///
    /// A shape that is too large.
    pub fn output(&self, place: usize, shape: &Shape, dtype: DType) -> Result<Tensor> {
        let mut output = Tensor::absent("output", shape, (dtype, Device::cpu()))?;
        output.edge = Some(Edge {
            node: self.0.clone(),
            output: place,
        });
        Ok(output)
    }
}

impl PartialEq for GraphNode {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for GraphNode {}

impl fmt::Debug for GraphNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GraphNode({})", self.name())
    }
}

impl Tensor {
    /// The place in the graph where this tensor was computed, if it is tracked.
    #[doc(alias = "grad_fn")]
    pub fn graph_node(&self) -> Option<GraphNode> {
        let edge = self.edge.as_ref()?;
        Some(GraphNode(edge.node.clone()))
    }
}
