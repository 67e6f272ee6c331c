use std::sync::Arc;

use smallvec::SmallVec;

use super::Input;
use super::node::Inputs;
use super::{Edge, Node, NodeKind, Tensor, is_grad_enabled};
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
/// use module_tensor::{Backward, Function, Gradients, Result, Tensor};
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
///     let y = module_tensor::no_grad(|| x.mul(x)?.mul(x))?;
///     Ok(y.record([x], |_| Cube { x: x.clone() }))
/// }
///
/// let x = Tensor::from(2.0_f32).with_grad()?;
/// cube(&x)?.backward()?;
/// assert_eq!(x.grad().unwrap().item::<f32>()?, 12.0);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait Function: Send + Sync + 'static {
    /// The name that errors call the operation.
    fn name(&self) -> &'static str;

    /// The gradients of the inputs, in their order, from that of the output or those of the outputs.
    ///
    /// # Errors
    ///
    /// Those of the operations it is written with.
    fn backward(&self, ctx: &Backward) -> Result<Gradients>;
}

/// The gradients that have reached the outputs of a node.
pub(crate) type Reached = SmallVec<[Option<Tensor>; 1]>;

/// What [`Function::backward`] is given.
pub struct Backward {
    node: Arc<Node>,
    /// The first gradient, and of which output it is.
    grad: Tensor,
    place: usize,
    /// Those of the outputs behind that.
    others: Reached,
}

impl Backward {
    /// `None` if no gradient has reached any output.
    pub(crate) fn new(mut reached: Reached, node: Arc<Node>) -> Option<Self> {
        let place = reached.iter().position(Option::is_some)?;
        let grad = reached[place].take()?;
        // Nothing is moved for an operation with one output.
        let others = match reached.len() - place {
            1 => Reached::new(),
            _ => reached.drain(place + 1..).collect(),
        };
        Some(Self {
            node,
            grad,
            place,
            others,
        })
    }

    /// The gradient of the output; of several, that of the first that has one.
    pub fn grad(&self) -> &Tensor {
        &self.grad
    }

    /// The gradient of output `i`, if one has reached it: the gradient of an output that nothing
    /// used is zero, and is not made.
    pub fn grad_of(&self, i: usize) -> Option<&Tensor> {
        match i.checked_sub(self.place)? {
            0 => Some(&self.grad),
            behind => self.others.get(behind - 1)?.as_ref(),
        }
    }

    /// Whether input `i` needs a gradient.
    pub fn needs(&self, i: usize) -> bool {
        match &self.node.kind {
            NodeKind::Op(op) => op.inputs.get(i).is_some_and(Option::is_some),
            NodeKind::Leaf(_) => false,
        }
    }

    /// How many inputs the operation has.
    pub fn inputs(&self) -> usize {
        match &self.node.kind {
            NodeKind::Op(op) => op.inputs.len(),
            NodeKind::Leaf(_) => 0,
        }
    }

    /// The operation's own output, tracked, from the handle that was saved of it; of several, the first.
    ///
    /// The handle itself is untracked, because an operation that held its own node would never be
    /// dropped.
    pub fn output(&self, saved: &Tensor) -> Tensor {
        self.output_of(0, saved)
    }

    /// The same for output `i` of several.
    pub fn output_of(&self, i: usize, saved: &Tensor) -> Tensor {
        let edge = Edge {
            node: self.node.clone(),
            output: i,
        };
        Tensor {
            edge: Some(edge),
            ..saved.clone()
        }
    }
}

/// The gradient of one input, as [`Gradients`].
pub(crate) fn one(grad: Tensor) -> Result<Gradients> {
    Ok(SmallVec::from_iter([Some(grad)]))
}

/// The gradients of two inputs, each computed only if it is needed.
#[inline]
pub(crate) fn two(
    ctx: &Backward,
    first: impl Fn() -> Result<Tensor>,
    second: impl Fn() -> Result<Tensor>,
) -> Result<Gradients> {
    gradients_of([&first, &second], ctx)
}

fn gradients_of(
    [first, second]: [&dyn Fn() -> Result<Tensor>; 2],
    ctx: &Backward,
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
        self,
        inputs: impl IntoIterator<Item = &'a Self>,
        function: impl FnOnce(&Self) -> F,
    ) -> Self {
        let out = self.without_edge();
        match out.inputs_to_record(&mut inputs.into_iter()) {
            None => out,
            Some(inputs) => {
                let function = Arc::new(function(&out));
                out.with_node(function, inputs)
            }
        }
    }

    #[inline]
    fn without_edge(mut self) -> Self {
        self.edge = None;
        self
    }

    /// The inputs of the operation whose output this is, if a gradient can flow.
    fn inputs_to_record(&self, inputs: &mut dyn Iterator<Item = &Self>) -> Option<Inputs> {
        if !self.is_differentiable() {
            return None;
        }
        tracked(inputs)
    }

    fn with_node(mut self, function: Arc<dyn Function>, inputs: Inputs) -> Self {
        self.edge = Some(Edge::first(Node::op(function, inputs, 1)));
        self
    }

    /// `outputs` as those of one operation on `inputs`, as [`record`](Self::record) for one: outputs that
    /// are not floating-point, such as places, have no gradient.
    ///
    /// The function is given one optional gradient for each output ([`Backward::grad_of`]).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Backward, Function, Gradients, Result, Tensor};
    ///
    /// /// The halves of a vector of two.
    /// struct Halves;
    ///
    /// impl Function for Halves {
    ///     fn name(&self) -> &'static str {
    ///         "halves"
    ///     }
    ///
    ///     fn backward(&self, ctx: &Backward) -> Result<Gradients> {
    ///         let zero = ctx.grad().zeros_like()?;
    ///         let [a, b] = [0, 1].map(|i| ctx.grad_of(i).unwrap_or(&zero));
    ///         Ok([Some(Tensor::cat(&[a, b], 0)?)].into_iter().collect())
    ///     }
    /// }
    ///
    /// let x = Tensor::from([2.0_f32, 3.0]).with_grad()?;
    /// let halves = module_tensor::no_grad(|| Ok::<_, module_tensor::Error>([x.narrow(0, 0..1)?, x.narrow(0, 1..2)?]))?;
    /// let [_, second] = Tensor::record_outputs(halves, [&x], |_| Halves);
    /// second.mul(5.0)?.sum(..)?.backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [0.0, 5.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn record_outputs<'a, O: AsMut<[Self]>, F: Function>(
        mut outputs: O,
        inputs: impl IntoIterator<Item = &'a Self>,
        function: impl FnOnce(&[Self]) -> F,
    ) -> O {
        let all = outputs.as_mut();
        all.iter_mut().for_each(|output| output.edge = None);
        if !all.iter().any(|output| output.is_differentiable()) {
            return outputs;
        }
        if let Some(inputs) = tracked(&mut inputs.into_iter()) {
            let node = Node::op(Arc::new(function(all)), inputs, all.len());
            for (i, output) in all.iter_mut().enumerate() {
                output.edge = output.is_differentiable().then(|| Edge {
                    node: node.clone(),
                    output: i,
                });
            }
        }
        outputs
    }
}

/// The inputs of an operation, if a gradient can flow.
fn tracked(inputs: &mut dyn Iterator<Item = &Tensor>) -> Option<Inputs> {
    if !is_grad_enabled() {
        return None;
    }
    // Nothing is made for an operation that nobody tracks.
    let mut untracked = 0;
    let first = loop {
        let input = inputs.next()?;
        if input.edge.is_some() {
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
