//! Full backward hooks: what they see, and the nodes that call them.
//!
//! As in PyTorch, a call with such hooks puts a node around its inputs and one around its outputs.
//! Each passes gradients on as they are; the outer one, which a backward pass reaches first, runs the
//! pre-hooks with those of all outputs, the inner one the hooks with those of all inputs. What these see
//! of the outputs reaches the inner node by edges of its own, behind those of the inputs.

use std::sync::{Arc, OnceLock};

use super::Tensors;
use super::registry::{BackwardHook, BackwardPreHook, Taken};
use crate::module::{Module, ModuleId};
use crate::tensor::{
    Backward, Edge, Function, Gradients, Input, Inputs, Node, check_gradient, is_grad_enabled,
};
use crate::{DType, Device, Error, ErrorKind, Result, Shape, Tensor};

/// The backward pass of one call that is about to go through a module, as a full backward pre-hook
/// sees it.
///
/// The module itself may be gone by then; its type, identity and path remain.
pub struct BackwardPreCall<'c> {
    of: Called,
    path: &'c str,
    likes: &'c [Like],
    grad_outputs: &'c mut Vec<Option<Tensor>>,
}

/// The backward pass of one call that has gone through a module, as a full backward hook sees it.
///
/// The module itself may be gone by then; its type, identity and path remain.
pub struct BackwardCall<'c> {
    of: Called,
    path: &'c str,
    /// What the inputs are like, if one of them is tracked.
    likes: Option<&'c [Like]>,
    grad_inputs: &'c mut Vec<Option<Tensor>>,
    grad_outputs: &'c [Option<Tensor>],
}

macro_rules! of_a_module {
    ($($name:ident),*) => {$(
        impl $name<'_> {
            /// The type of the module that was called: `Linear`.
            pub fn kind(&self) -> &'static str {
                self.of.kind
            }

            /// The identity that the module had when it was called.
            pub fn id(&self) -> ModuleId {
                self.of.id
            }

            /// The path of the module in the tree of a [`HookSet`](super::HookSet); empty for the
            /// outermost module and for a hook that was registered on one module.
            pub fn path(&self) -> &str {
                self.path
            }

            /// The gradients of the outputs, in their order, detached; `None` for an output that no
            /// gradient reached.
            pub fn grad_outputs(&self) -> Vec<Option<Tensor>> {
                detached(&self.grad_outputs)
            }

            /// The gradients of the outputs as they are: with their graph, in a pass with
            /// `create_graph`.
            pub fn tracked_grad_outputs(&self) -> Vec<Option<Tensor>> {
                self.grad_outputs.to_vec()
            }
        }
    )*};
}

of_a_module!(BackwardPreCall, BackwardCall);

impl BackwardPreCall<'_> {
    /// Replaces the gradients of the outputs, in their order; later hooks and the module see these.
    /// `None` is a gradient of zero.
    ///
    /// # Errors
    ///
    /// Another number of gradients than the call had outputs, a gradient of another shape, dtype or
    /// device than its output; nothing is replaced.
    pub fn set_grad_outputs(&mut self, grads: Vec<Option<Tensor>>) -> Result<()> {
        replace(
            "set_grad_outputs",
            Some(self.likes),
            self.grad_outputs,
            grads,
        )
    }
}

impl BackwardCall<'_> {
    /// The gradients of the inputs, in their order, detached. An input that needs none has one of
    /// zeros if another input needs one; if none does, all are `None`.
    pub fn grad_inputs(&self) -> Vec<Option<Tensor>> {
        detached(self.grad_inputs)
    }

    /// The gradients of the inputs as they are: with their graph, in a pass with `create_graph`.
    pub fn tracked_grad_inputs(&self) -> Vec<Option<Tensor>> {
        self.grad_inputs.clone()
    }

    /// Replaces the gradients of the inputs, in their order; later hooks and what made the inputs see
    /// these. `None` is no gradient.
    ///
    /// # Errors
    ///
    /// Another number of gradients than the call had inputs, a gradient of another shape, dtype or
    /// device than its input, or any if no input needs one; nothing is replaced.
    pub fn set_grad_inputs(&mut self, grads: Vec<Option<Tensor>>) -> Result<()> {
        replace("set_grad_inputs", self.likes, self.grad_inputs, grads)
    }
}

fn detached(grads: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
    let detached = |grad: &Option<Tensor>| grad.as_ref().map(Tensor::detach);
    grads.iter().map(detached).collect()
}

fn replace(
    op: &'static str,
    likes: Option<&[Like]>,
    grads: &mut Vec<Option<Tensor>>,
    with: Vec<Option<Tensor>>,
) -> Result<()> {
    if with.len() != grads.len() {
        let problem = format!("must be the number of tensors, {}", grads.len());
        return Err(Error::argument(op, "count", with.len(), problem));
    }
    for (i, grad) in with.iter().enumerate() {
        let Some(grad) = grad else { continue };
        match likes.and_then(|likes| likes.get(i)) {
            Some(like) => like.check(op, grad)?,
            None => {
                let problem =
                    "no input of the call requires a gradient, so that all must be `None`";
                return Err(Error::argument(op, "input", i, problem));
            }
        }
    }
    *grads = with;
    Ok(())
}

/// What a gradient must be like.
struct Like {
    shape: Shape,
    dtype: DType,
    device: Device,
}

impl Like {
    fn of(tensor: &Tensor) -> Self {
        Self {
            shape: tensor.shape().clone(),
            dtype: tensor.dtype(),
            device: tensor.device(),
        }
    }

    fn zeros(&self) -> Result<Tensor> {
        Tensor::zeros(&self.shape, self.dtype, &self.device)
    }

    fn check(&self, op: &'static str, grad: &Tensor) -> Result<()> {
        check_gradient(op, &self.shape, self.dtype, grad)?;
        if self.device == grad.device() {
            return Ok(());
        }
        let (lhs, rhs) = (self.device.to_string(), grad.device().to_string());
        Err(ErrorKind::DeviceMismatch { op, lhs, rhs }.into())
    }
}

/// The module that was called.
#[derive(Clone, Copy)]
struct Called {
    kind: &'static str,
    id: ModuleId,
}

/// A call between the nodes around its inputs and those around its outputs.
pub(super) struct Capture {
    of: Called,
    /// The node around the inputs, if one of them is tracked.
    inner: Option<Arc<Node>>,
    /// How many tensors the output has, which the inner node learns when the call is over.
    outputs: Arc<OnceLock<usize>>,
    pre: Vec<Taken<BackwardPreHook>>,
    /// Those that no inner node runs, because no input is tracked.
    full: Vec<Taken<BackwardHook>>,
    /// How many tensors the input has.
    inputs: usize,
}

impl Capture {
    /// Puts the inner node around the input of a call that starts; nothing where nobody asks, or
    /// nothing is recorded.
    pub(super) fn start(
        module: &dyn Module,
        pre: Vec<Taken<BackwardPreHook>>,
        full: Vec<Taken<BackwardHook>>,
        input: &mut dyn Tensors,
    ) -> Result<Option<Self>> {
        if (pre.is_empty() && full.is_empty()) || !is_grad_enabled() {
            return Ok(None);
        }
        let of = Called {
            kind: module.kind(),
            id: module.id(),
        };
        let tensors = tensors(input);
        let mut capture = Self {
            of,
            inner: None,
            outputs: Arc::default(),
            pre,
            full,
            inputs: tensors.len(),
        };
        if !capture.full.is_empty() && tensors.iter().any(Tensor::requires_grad) {
            let inner = Inner {
                of,
                outputs: capture.outputs.clone(),
                hooks: std::mem::take(&mut capture.full),
                likes: tensors.iter().map(Like::of).collect(),
            };
            let inputs = tensors.iter().map(Input::of).collect();
            capture.inner = Some(surround(input, &tensors, inputs, inner)?);
        }
        Ok(Some(capture))
    }

    /// Puts the outer node around the output of the call.
    pub(super) fn end(self, output: &mut dyn Tensors) -> Result<()> {
        let tensors = tensors(output);
        if !is_grad_enabled() || !tensors.iter().any(Tensor::requires_grad) {
            return Ok(());
        }
        let likes: Vec<Like> = tensors.iter().map(Like::of).collect();
        let mut inputs: Inputs = tensors.iter().map(Input::of).collect();
        inputs.extend(self.to_inner(&likes));
        // Set once, because a call ends once.
        let _ = self.outputs.set(likes.len());
        let outer = Outer {
            capture: self,
            likes,
        };
        surround(output, &tensors, inputs, outer).map(drop)
    }

    /// The edges from the outer to the inner node: a token that it was there, and the gradients of all
    /// outputs.
    fn to_inner(&self, outputs: &[Like]) -> Vec<Option<Input>> {
        let Some(inner) = &self.inner else {
            return Vec::new();
        };
        let token = [(Shape::from(()), DType::F32)].into_iter();
        let outputs = outputs.iter().map(|like| (like.shape.clone(), like.dtype));
        let edge = |i| Edge {
            node: inner.clone(),
            output: self.inputs + i,
        };
        let all = token.chain(outputs).enumerate();
        all.map(|(i, (shape, dtype))| {
            Some(Input {
                edge: edge(i),
                shape,
                dtype,
            })
        })
        .collect()
    }
}

/// The tensors of a value.
pub(super) fn tensors(value: &dyn Tensors) -> Vec<Tensor> {
    let mut tensors = Vec::new();
    value.for_each(&mut |tensor| tensors.push(tensor.clone()));
    tensors
}

/// Puts a node around the tensors of a value.
fn surround(
    value: &mut dyn Tensors,
    tensors: &[Tensor],
    inputs: Inputs,
    function: impl Function,
) -> Result<Arc<Node>> {
    let mut replaceable = 0;
    value.for_each_mut(&mut |_| replaceable += 1);
    if replaceable != tensors.len() {
        let problem = "full backward hooks cannot follow a borrowed tensor; pass it by value, which copies no elements";
        let op = "register_full_backward_hook";
        return Err(Error::argument(op, "tensors", tensors.len(), problem));
    }
    let node = Node::op(Arc::new(function), inputs, tensors.len());
    let mut output = 0;
    value.for_each_mut(&mut |tensor| {
        if tensor.edge.is_some() {
            let node = node.clone();
            tensor.edge = Some(Edge { node, output });
        }
        output += 1;
    });
    Ok(node)
}

const NAME: &str = "full_backward_hook";

/// What is around the outputs, with which the backward pass of a call begins.
struct Outer {
    capture: Capture,
    likes: Vec<Like>,
}

impl Function for Outer {
    fn name(&self) -> &'static str {
        NAME
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Capture {
            of,
            inner,
            pre,
            full,
            inputs,
            ..
        } = &self.capture;
        let reached = (0..self.likes.len()).map(|i| ctx.grad_of(i).cloned());
        let reached: Vec<Option<Tensor>> = reached.collect();
        let mut grads = reached.clone();
        for hook in pre {
            let mut call = BackwardPreCall {
                of: *of,
                path: hook.path(),
                likes: &self.likes,
                grad_outputs: &mut grads,
            };
            (hook.hook)(&mut call).map_err(|error| of.failed(hook, error))?;
        }
        // As in PyTorch: without a tracked input there is no inner node, and nothing to replace.
        let mut none = vec![None; *inputs];
        run(*of, full, None, &mut none, &grads)?;
        let passed = grads.iter().zip(&reached).zip(&self.likes);
        let passed = passed.map(|((grad, reached), like)| match (grad, reached) {
            (None, Some(_)) => like.zeros().map(Some),
            _ => Ok(grad.clone()),
        });
        let mut passed = passed.collect::<Result<Gradients>>()?;
        if inner.is_some() {
            passed.push(Some(Tensor::from(0.0_f32)));
            passed.extend(grads);
        }
        Ok(passed)
    }
}

/// What is around the inputs, with which the backward pass of a call ends.
struct Inner {
    of: Called,
    /// How many tensors the output of the call has.
    outputs: Arc<OnceLock<usize>>,
    hooks: Vec<Taken<BackwardHook>>,
    likes: Vec<Like>,
}

impl Function for Inner {
    fn name(&self) -> &'static str {
        NAME
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let token = self.likes.len();
        let grads = (0..token).map(|i| ctx.grad_of(i).cloned());
        let mut grads: Vec<Option<Tensor>> = grads.collect();
        let reached = grads.iter().any(Option::is_some);
        // A gradient may get here without having passed the outputs, as one of a gradient does.
        if reached && ctx.grad_of(token).is_some() {
            let outputs = self.outputs.get().copied().unwrap_or_default();
            let grad_outputs = (1..=outputs).map(|i| ctx.grad_of(token + i).cloned());
            let grad_outputs: Vec<Option<Tensor>> = grad_outputs.collect();
            for (grad, like) in grads.iter_mut().zip(&self.likes) {
                if grad.is_none() {
                    *grad = Some(like.zeros()?);
                }
            }
            let likes = Some(self.likes.as_slice());
            run(self.of, &self.hooks, likes, &mut grads, &grad_outputs)?;
        }
        Ok(grads.into())
    }
}

fn run(
    of: Called,
    hooks: &[Taken<BackwardHook>],
    likes: Option<&[Like]>,
    grad_inputs: &mut Vec<Option<Tensor>>,
    grad_outputs: &[Option<Tensor>],
) -> Result<()> {
    for hook in hooks {
        let mut call = BackwardCall {
            of,
            path: hook.path(),
            likes,
            grad_inputs,
            grad_outputs,
        };
        (hook.hook)(&mut call).map_err(|error| of.failed(hook, error))?;
    }
    Ok(())
}

impl Called {
    fn failed<H>(self, hook: &Taken<H>, error: Error) -> Error {
        ErrorKind::GradHook {
            place: hook.place.to_string(),
            of: self.kind,
            source: Box::new(error),
        }
        .into()
    }
}
