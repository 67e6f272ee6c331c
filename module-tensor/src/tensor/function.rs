use std::mem::take;
use std::sync::Arc;

use smallvec::SmallVec;

use super::{Edge, Node, NodeKind, Tensor};
use crate::{AutogradError, Result};

/// The gradients of an operation's inputs, in order; `None` for an input without one.
pub type Gradients = SmallVec<[Option<Tensor>; 2]>;

/// The gradient of a differentiable operation, with whatever it saved from the forward pass.
///
/// Write `backward` with [`Tensor`] operations to get second derivatives. An operation that saves its own output saves the
/// handle that [`Tensor::record`] lends it and reads it through [`Backward::output`].
///
/// # Example
///
/// A custom differentiable operation:
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
///
/// ```
/// use module_tensor::{Backward, Function, Gradients, Result, Tensor, no_grad};
///
/// /// `(eᵃ, a + b)`, which saves its first output.
/// struct ExpAndSum {
///     exp: Tensor,
/// }
///
/// impl Function for ExpAndSum {
///     fn name(&self) -> &'static str {
///         "exp_and_sum"
///     }
///
///     fn backward(&self, ctx: &Backward) -> Result<Gradients> {
///         let zero = self.exp.zeros_like()?;
///         let [of_exp, of_sum] = [0, 1].map(|output| ctx.grad_of(output).unwrap_or(&zero));
///         let mut grads = vec![None; ctx.input_count()];
///         // Nothing is computed for an input without a gradient.
///         if ctx.needs(0) {
///             let slope = ctx.output_of(0, &self.exp);
///             grads[0] = Some(of_exp.mul(&slope)?.add(of_sum)?);
///         }
///         if ctx.needs(1) {
///             grads[1] = Some(of_sum.clone());
///         }
///         Ok(grads.into())
///     }
/// }
///
/// let (a, b) = (Tensor::from(0.0_f32).with_grad()?, Tensor::from(5.0_f32));
/// let outputs = no_grad(|| Ok::<_, module_tensor::Error>([a.exp()?, a.add(&b)?]))?;
/// let save = |outputs: &[Tensor]| ExpAndSum { exp: outputs[0].clone() };
/// let [exp, sum] = Tensor::record_outputs(outputs, [&a, &b], save);
/// exp.mul(3.0)?.add(&sum)?.backward()?;
/// assert_eq!(a.grad().unwrap().item::<f32>()?, 4.0);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub trait Function: Send + Sync + 'static {
    /// The name of the operation in errors.
    fn name(&self) -> &'static str;

    /// The gradients of the inputs, in order, from those of the outputs.
    ///
    /// # Errors
    ///
    /// Those of the operations that it uses.
    fn backward(&self, ctx: &Backward) -> Result<Gradients>;

    /// Whether nothing from the forward pass is saved: then a backward pass frees nothing, and a second one can pass
    /// through without `retain_graph`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Backward, Function, Gradients, Result, Tensor, no_grad};
    ///
    /// struct Double;
    ///
    /// impl Function for Double {
    ///     fn name(&self) -> &'static str {
    ///         "double"
    ///     }
    ///
    ///     fn backward(&self, ctx: &Backward) -> Result<Gradients> {
    ///         Ok([Some(ctx.grad().mul(2.0)?)].into_iter().collect())
    ///     }
    ///
    ///     fn saves_nothing(&self) -> bool {
    ///         true
    ///     }
    /// }
    ///
    /// let x = Tensor::from(1.0_f32).with_grad()?;
    /// let y = no_grad(|| x.mul(2.0))?.record([&x], |_| Double);
    /// y.backward()?;
    /// y.backward()?;
    /// assert_eq!(x.grad().unwrap().item::<f32>()?, 4.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    fn saves_nothing(&self) -> bool {
        false
    }
}

/// The gradients that have reached the outputs of a node.
#[derive(Default)]
pub(crate) struct Reached {
    /// That of the first output, which is the only one of most operations.
    first: Option<Tensor>,
    /// Those of the outputs behind it, up to the last that has one.
    others: Vec<Option<Tensor>>,
}

impl Reached {
    /// The number of outputs up to the last that has a gradient.
    pub(crate) fn len(&self) -> usize {
        1 + self.others.len()
    }

    /// That of an output.
    pub(crate) fn of(&mut self, output: usize) -> &mut Option<Tensor> {
        let Some(i) = output.checked_sub(1) else {
            return &mut self.first;
        };
        if self.others.len() <= i {
            self.others.resize_with(output, || None);
        }
        &mut self.others[i]
    }

    pub(crate) fn clear(&mut self) {
        self.first = None;
        self.others.clear();
    }
}

/// The argument of [`Function::backward`]: the gradients of the outputs.
pub struct Backward {
    node: Arc<Node>,
    /// The first gradient, and the index of its output.
    grad: Tensor,
    first: usize,
    /// Those of the following outputs.
    others: Vec<Option<Tensor>>,
    /// Which inputs the pass requests, if not all that need a gradient.
    asked: Option<Asked>,
}

/// Whether a pass requests the gradient of each input of an operation.
pub(crate) type Asked = SmallVec<[bool; 4]>;

impl Backward {
    /// Takes the gradients that have reached a node; `None` if there are none.
    #[inline]
    pub(crate) fn new(
        reached: &mut Reached,
        node: Arc<Node>,
        asked: Option<Asked>,
    ) -> Option<Self> {
        let first = (0..reached.len()).find(|&output| reached.of(output).is_some())?;
        let grad = reached.of(first).take()?;
        let mut others = take(&mut reached.others);
        if first > 0 {
            others.drain(..first);
        }
        Some(Self {
            node,
            grad,
            first,
            others,
            asked,
        })
    }

    /// The gradient of the output; for several outputs, that of the first with a gradient.
    pub fn grad(&self) -> &Tensor {
        &self.grad
    }

    /// The gradient of output `i`, if one has reached it: the gradient of an unused output is zero, and is not made.
    pub fn grad_of(&self, i: usize) -> Option<&Tensor> {
        match i.checked_sub(self.first)? {
            0 => Some(&self.grad),
            behind => self.others.get(behind - 1)?.as_ref(),
        }
    }

    /// Whether input `i` needs a gradient in this pass. It does not if it leads to nothing that
    /// [`grad`](crate::autograd::grad) requests, or only to paused leaves; a gradient returned for it is dropped.
    pub fn needs(&self, i: usize) -> bool {
        if let Some(asked) = &self.asked {
            return asked.get(i) == Some(&true);
        }
        match &self.node.kind {
            NodeKind::Op(op) => {
                let input = op.inputs.get(i).and_then(Option::as_ref);
                input.is_some_and(|input| !input.node.ignores_grad())
            }
            NodeKind::Leaf(_) => false,
        }
    }

    /// The number of inputs of the operation.
    pub fn input_count(&self) -> usize {
        match &self.node.kind {
            NodeKind::Op(op) => op.inputs.len(),
            NodeKind::Leaf(_) => 0,
        }
    }

    /// The operation's own output as a tracked tensor, from the handle `saved` by the function; for several outputs, the
    /// first.
    ///
    /// The handle itself is untracked, because an operation that held its own node would never be dropped.
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

/// Marks the output of an operation without a gradient, so that `backward` through it is an error and not a silent cut.
///
/// # Example
///
/// ```
/// use module_tensor::{NoGradient, Tensor, no_grad};
///
/// let x = Tensor::from([0.5_f32]).with_grad()?;
/// let hash = no_grad(|| x.mul(7919.0)?.sin())?;
/// let hash = hash.record([&x], |_| NoGradient("hash"));
/// let error = hash.backward().unwrap_err().to_string();
/// assert!(error.starts_with("backward: `hash` has no gradient"), "{error}");
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub struct NoGradient(pub &'static str);

impl Function for NoGradient {
    fn name(&self) -> &'static str {
        self.0
    }

    fn backward(&self, _: &Backward) -> Result<Gradients> {
        Err(AutogradError::NoGradient { op: self.0 }.into())
    }
}
