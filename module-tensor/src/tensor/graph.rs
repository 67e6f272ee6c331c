//! The graph behind a tensor, to be read.

use std::fmt;
use std::sync::Arc;

use super::{Edge, Function, Input, Node, NodeKind, Tensor};
use crate::{DType, Shape};

/// The node that computed a tensor: PyTorch's `grad_fn`, or `AccumulateGrad` for a leaf.
///
/// Two handles are equal if they refer to the same node. A handle keeps its node and all earlier nodes alive.
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
    /// The node of an edge.
    pub(crate) fn of(edge: &Edge) -> Self {
        Self(edge.node.clone())
    }

    /// A number that no other node in this process has.
    pub fn id(&self) -> u64 {
        self.0.order
    }

    /// The name of the operation, `leaf` for a leaf.
    pub fn name(&self) -> &'static str {
        self.0.name()
    }

    /// The nodes that receive the gradients of the operation's inputs, `None` for one that needs none; empty for
    /// a leaf.
    pub fn next_functions(&self) -> Vec<Option<Self>> {
        match &self.0.kind {
            NodeKind::Leaf(_) => Vec::new(),
            NodeKind::Op(op) => {
                let inputs = op.inputs.iter();
                inputs
                    .map(|input| Some(Self(input.as_ref()?.node.clone())))
                    .collect()
            }
        }
    }
}

/// The destination of a gradient of a recorded operation: a tensor, or an output of another operation.
pub struct GraphInput(Option<Input>);

/// Makes an input of a tensor; one that is not tracked gets no gradient.
impl From<&Tensor> for GraphInput {
    fn from(tensor: &Tensor) -> Self {
        Self(Input::of(tensor))
    }
}

/// Operations that are recorded separately from their outputs, for cases that [`Tensor::record_outputs`] cannot express.
///
/// # Example
///
/// An operation that passes its gradient on, and also to an output that the previous operation never returned:
///
/// ```
/// use module_tensor::{Backward, DType, Function, Gradients, GraphInput, GraphNode, Result, Shape, Tensor};
///
/// struct First;
///
/// impl Function for First {
///     fn name(&self) -> &'static str {
///         "first"
///     }
///
///     fn backward(&self, ctx: &Backward) -> Result<Gradients> {
///         // The second output has no tensor, only a gradient.
///         let total = ctx.grad().add(ctx.grad_of(1).unwrap_or(ctx.grad()))?;
///         Ok([Some(total)].into_iter().collect())
///     }
/// }
///
/// struct Second;
///
/// impl Function for Second {
///     fn name(&self) -> &'static str {
///         "second"
///     }
///
///     fn backward(&self, ctx: &Backward) -> Result<Gradients> {
///         Ok([Some(ctx.grad().clone()), Some(ctx.grad().mul(10.0)?)].into_iter().collect())
///     }
/// }
///
/// let x = Tensor::from(1.0_f32).with_grad()?;
/// let mut y = x.detach();
/// let first = GraphNode::new(First, [GraphInput::from(&x)], 1);
/// first.attach(0, &mut y);
/// let more = first.output(1, &Shape::from(()), DType::F32);
/// let second = GraphNode::new(Second, [GraphInput::from(&y), more], 1);
/// second.attach(0, &mut y);
/// y.backward()?;
/// assert_eq!(x.grad().unwrap().item::<f32>()?, 11.0);
/// # Ok::<(), module_tensor::Error>(())
/// ```
impl GraphNode {
    /// Records an operation, whose function gets a gradient for each output and returns one for each input.
    pub fn new(
        function: impl Function,
        inputs: impl IntoIterator<Item = GraphInput>,
        outputs: usize,
    ) -> Self {
        let inputs = inputs.into_iter().map(|GraphInput(input)| input).collect();
        Self(Node::op(Arc::new(function), inputs, outputs))
    }

    /// Makes `tensor` output `index` of the operation, and drops its previous history.
    pub fn attach(&self, index: usize, tensor: &mut Tensor) {
        let node = self.0.clone();
        let edge = Edge {
            node,
            output: index,
        };
        tensor.edge = tensor.is_differentiable().then_some(edge);
    }

    /// Output `index` of the operation as an input of another; the output need not have a tensor.
    pub fn output(&self, index: usize, shape: &Shape, dtype: DType) -> GraphInput {
        let node = self.0.clone();
        let edge = Edge {
            node,
            output: index,
        };
        GraphInput(Some(Input::new(edge, shape.clone(), dtype)))
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
    /// The node of the graph that computed this tensor, if it is tracked.
    #[doc(alias = "grad_fn")]
    pub fn graph_node(&self) -> Option<GraphNode> {
        self.edge.as_ref().map(GraphNode::of)
    }
}
