use std::rc::Rc;
use std::sync::Arc;

use smallvec::SmallVec;

use super::Input;
use super::node::Inputs;
use super::{Node, NodeKind, Shelf, Tensor, is_grad_enabled};
use crate::{ErrorKind, Result};

/// The gradients of an operation's inputs, in order; `None` for one that has none or needs none.
pub type Gradients = SmallVec<[Option<Tensor>; 2]>;

/// The gradient of a differentiable operation, with whatever it saved of the forward pass.
///
/// Write `backward` with [`Tensor`] operations, and second derivatives follow. An operation that
/// saves its own output saves the handle that [`Tensor::record`] lends it and reads it by
/// [`Backward::output`].
///
/// # Example
///
/// A differentiable operation of one's own:
///
/// ```
/// use module_core::{Backward, Function, Gradients, Result, Tensor};
///
/// struct Cube {
///     x: Tensor,
/// }
///
/// impl Function for Cube {
///     fn name(&self) -> &'static str {
///         "cube"
///     }
///
///     fn backward(&self, ctx: &Backward) -> Result<Gradients> {
///         let slope = self.x.mul(&self.x)?.mul(3.0)?;
///         Ok([Some(ctx.grad().mul(&slope)?)].into_iter().collect())
///     }
/// }
///
/// fn cube(x: &Tensor) -> Result<Tensor> {
///     let y = module_core::no_grad(|| x.mul(x)?.mul(x))?;
///     Ok(y.record([x], |_| Cube { x: x.clone() }))
/// }
///
/// let x = Tensor::from(2.0_f32).with_grad()?;
/// cube(&x)?.backward()?;
/// assert_eq!(x.grad().unwrap().item::<f32>()?, 12.0);
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait Function: Send + Sync + 'static {
    /// The name that errors call the operation.
    fn name(&self) -> &'static str;

    /// The gradients of the inputs, in their order, from that of the output.
    ///
    /// # Errors
    ///
    /// Those of the operations it is written with.
    fn backward(&self, ctx: &Backward) -> Result<Gradients>;
}

/// What [`Function::backward`] is given.
pub struct Backward {
    grad: Tensor,
    node: Arc<Node>,
    shelf: Rc<Shelf>,
}

impl Backward {
    pub(crate) fn new(grad: Tensor, node: Arc<Node>, shelf: Rc<Shelf>) -> Self {
        Self { grad, node, shelf }
    }

    /// The gradient of the output.
    pub fn grad(&self) -> &Tensor {
        &self.grad
    }

    /// Whether input `i` needs a gradient.
    pub fn needs(&self, i: usize) -> bool {
        match &self.node.kind {
            NodeKind::Op(op) => op.inputs.get(i).is_some_and(Option::is_some),
            NodeKind::Leaf(_) => false,
        }
    }

    /// Where nodes of this pass put down gradients for each other.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// How many inputs the operation has.
    pub fn inputs(&self) -> usize {
        match &self.node.kind {
            NodeKind::Op(op) => op.inputs.len(),
            NodeKind::Leaf(_) => 0,
        }
    }

    /// The operation's own output, tracked, from the handle that was saved of it.
    ///
    /// The handle itself is untracked, because an operation that held its own node would never be
    /// dropped.
    pub fn output(&self, saved: &Tensor) -> Tensor {
        Tensor {
            node: Some(self.node.clone()),
            ..saved.clone()
        }
    }
}

/// The gradient of one input, as [`Gradients`].
pub(crate) fn one(grad: Tensor) -> Result<Gradients> {
    Ok(SmallVec::from_iter([Some(grad)]))
}

/// The gradients of two inputs, each computed only if it is needed.
pub(crate) fn two(
    ctx: &Backward,
    first: impl FnOnce() -> Result<Tensor>,
    second: impl FnOnce() -> Result<Tensor>,
) -> Result<Gradients> {
    let first = ctx.needs(0).then(first).transpose()?;
    let second = ctx.needs(1).then(second).transpose()?;
    Ok([first, second].into())
}

/// Marks the output of an operation that has no gradient, so that `backward` through it is an
/// error and not a silent cut.
pub struct NoGradient(pub &'static str);

impl Function for NoGradient {
    fn name(&self) -> &'static str {
        self.0
    }

    fn backward(&self, _: &Backward) -> Result<Gradients> {
        Err(ErrorKind::NoGradient { op: self.0 }.into())
    }
}

impl Tensor {
    /// This tensor as the output of an operation on `inputs` whose gradient `function` is.
    ///
    /// `function` is made only if a gradient can flow: if the grad mode is on and an input is
    /// tracked. It is given the output to save.
    pub fn record<'a, F: Function>(
        mut self,
        inputs: impl IntoIterator<Item = &'a Self>,
        function: impl FnOnce(&Self) -> F,
    ) -> Self {
        self.node = None;
        if let Some(inputs) = self.tracked_inputs(&mut inputs.into_iter()) {
            self.node = Some(Node::op(Arc::new(function(&self)), inputs));
        }
        self
    }

    /// The inputs of an operation with this output, if a gradient can flow.
    fn tracked_inputs(&self, inputs: &mut dyn Iterator<Item = &Self>) -> Option<Inputs> {
        if !is_grad_enabled() || !self.dtype().is_floating_point() {
            return None;
        }
        // Nothing is made for an operation that nobody tracks.
        let mut untracked = 0;
        let first = loop {
            let input = inputs.next()?;
            if input.node.is_some() {
                break input;
            }
            untracked += 1;
        };
        let mut kept = Inputs::new();
        kept.resize_with(untracked, || None);
        kept.push(Input::of(first));
        kept.extend(inputs.map(Input::of));
        Some(kept)
    }
}
