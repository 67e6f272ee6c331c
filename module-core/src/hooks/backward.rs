//! Full backward hooks: the nodes that call them.
//!
//! As in PyTorch, a call with such hooks puts a node around its inputs and one around its outputs.
//! Each passes gradients on as they are; the outer one, which a backward pass reaches first, runs the
//! pre-hooks with those of all outputs, the inner one the hooks with those of all inputs. What these see
//! of the outputs reaches the inner node by edges of its own, behind those of the inputs.

use std::sync::{Arc, OnceLock};

use super::backward_call::{BackwardCall, BackwardPreCall, ModuleLabel, TensorSpec};
use super::call_hooks::CallHook;
use super::hook::{BackwardHook, BackwardPreHook};
use super::tensors::{Tensors, tensors};
use crate::module::Module;
use crate::{
    AutogradError, Backward, DType, Error, Function, Gradients, GraphInput, GraphNode, Result,
    Shape, Tensor, is_grad_enabled,
};

/// A call between the nodes around its inputs and those around its outputs.
pub(super) struct Capture {
    of: ModuleLabel,
    /// The node around the inputs, if one of them is tracked.
    inner: Option<GraphNode>,
    /// How many tensors the output has, which the inner node learns when the call is over.
    outputs: Arc<OnceLock<usize>>,
    pre: Vec<CallHook<BackwardPreHook>>,
    /// Those that no inner node runs, because no input is tracked.
    full: Vec<CallHook<BackwardHook>>,
    /// How many tensors the input has.
    inputs: usize,
}

impl Capture {
    /// Puts the inner node around the input of a call that starts; nothing where nobody asks, or
    /// nothing is recorded.
    pub(super) fn start(
        module: &dyn Module,
        pre: Vec<CallHook<BackwardPreHook>>,
        full: Vec<CallHook<BackwardHook>>,
        input: &mut dyn Tensors,
    ) -> Result<Option<Self>> {
        if (pre.is_empty() && full.is_empty()) || !is_grad_enabled() {
            return Ok(None);
        }
        let of = ModuleLabel {
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
            let inner = InputsNode {
                of,
                outputs: capture.outputs.clone(),
                hooks: std::mem::take(&mut capture.full),
                specs: tensors.iter().map(TensorSpec::of).collect(),
            };
            // A call uses its last input last, so that its gradient comes first, as it does without the node: a tensor that is
            // given several times gets the same bits.
            let inputs = tensors.iter().rev().map(GraphInput::from);
            capture.inner = Some(wrap_in_node(input, tensors.len(), inputs, inner)?);
        }
        Ok(Some(capture))
    }

    /// Puts the outer node around the output of the call.
    pub(super) fn end(self, output: &mut dyn Tensors) -> Result<()> {
        let tensors = tensors(output);
        if !is_grad_enabled() || !tensors.iter().any(Tensor::requires_grad) {
            return Ok(());
        }
        let specs: Vec<TensorSpec> = tensors.iter().map(TensorSpec::of).collect();
        let to_inner = self.to_inner(&specs);
        // Set once, because a call ends once.
        let _ = self.outputs.set(specs.len());
        let outer = OutputsNode {
            capture: self,
            specs,
        };
        let inputs = tensors.iter().map(GraphInput::from).chain(to_inner);
        wrap_in_node(output, tensors.len(), inputs, outer).map(drop)
    }

    /// The edges from the outer to the inner node: a dummy scalar that shows the outputs were reached, and the
    /// gradients of all outputs.
    fn to_inner(&self, outputs: &[TensorSpec]) -> Vec<GraphInput> {
        let Some(inner) = &self.inner else {
            return Vec::new();
        };
        let scalar = Shape::from(());
        let token = [(&scalar, DType::F32)].into_iter();
        let outputs = outputs.iter().map(|like| (&like.shape, like.dtype));
        let all = token.chain(outputs).enumerate();
        all.map(|(i, (shape, dtype))| inner.output(self.inputs + i, shape, dtype))
            .collect()
    }
}

/// Puts a node around the tensors of a value, of which there are so many, which passes gradients to these inputs.
fn wrap_in_node(
    value: &mut dyn Tensors,
    count: usize,
    inputs: impl Iterator<Item = GraphInput>,
    function: impl Function,
) -> Result<GraphNode> {
    let mut replaceable = 0;
    value.for_each_mut(&mut |_| replaceable += 1);
    if replaceable != count {
        let problem = "full backward hooks cannot follow a borrowed tensor; pass it by value, which copies no elements";
        let op = "register_full_backward_hook";
        return Err(Error::argument(op, "tensors", count, problem));
    }
    let node = GraphNode::new(function, inputs, count);
    let mut place = 0;
    value.for_each_mut(&mut |tensor| {
        if tensor.requires_grad() {
            node.attach(place, tensor);
        }
        place += 1;
    });
    Ok(node)
}

const NAME: &str = "full_backward_hook";

/// The node around the outputs, with which the backward pass of a call begins.
struct OutputsNode {
    capture: Capture,
    specs: Vec<TensorSpec>,
}

impl Function for OutputsNode {
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
        let reached = (0..self.specs.len()).map(|i| ctx.grad_of(i).cloned());
        let reached: Vec<Option<Tensor>> = reached.collect();
        let mut grads = reached.clone();
        for hook in pre {
            let mut call = BackwardPreCall {
                of: *of,
                path: hook.path(),
                specs: &self.specs,
                grad_outputs: &mut grads,
            };
            (hook.hook)(&mut call).map_err(|error| of.hook_error(hook, error))?;
        }
        // As in PyTorch: without a tracked input there is no inner node, and nothing to replace.
        let mut none = vec![None; *inputs];
        run(*of, full, None, &mut none, &grads)?;
        let passed = grads.iter().zip(&reached).zip(&self.specs);
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

/// The node around the inputs, with which the backward pass of a call ends.
struct InputsNode {
    of: ModuleLabel,
    /// How many tensors the output of the call has.
    outputs: Arc<OnceLock<usize>>,
    hooks: Vec<CallHook<BackwardHook>>,
    specs: Vec<TensorSpec>,
}

impl Function for InputsNode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let token = self.specs.len();
        let grads = (0..token).map(|i| ctx.grad_of(i).cloned());
        let mut grads: Vec<Option<Tensor>> = grads.collect();
        let reached = grads.iter().any(Option::is_some);
        // A gradient may get here without having passed the outputs, as one of a gradient does.
        if reached && ctx.grad_of(token).is_some() {
            let outputs = self.outputs.get().copied().unwrap_or_default();
            let grad_outputs = (1..=outputs).map(|i| ctx.grad_of(token + i).cloned());
            let grad_outputs: Vec<Option<Tensor>> = grad_outputs.collect();
            for (grad, like) in grads.iter_mut().zip(&self.specs) {
                if grad.is_none() {
                    *grad = Some(like.zeros()?);
                }
            }
            let specs = Some(self.specs.as_slice());
            run(self.of, &self.hooks, specs, &mut grads, &grad_outputs)?;
        }
        Ok(grads.into_iter().rev().collect())
    }
}

fn run(
    of: ModuleLabel,
    hooks: &[CallHook<BackwardHook>],
    specs: Option<&[TensorSpec]>,
    grad_inputs: &mut Vec<Option<Tensor>>,
    grad_outputs: &[Option<Tensor>],
) -> Result<()> {
    for hook in hooks {
        let mut call = BackwardCall {
            of,
            path: hook.path(),
            specs,
            grad_inputs,
            grad_outputs,
        };
        (hook.hook)(&mut call).map_err(|error| of.hook_error(hook, error))?;
    }
    Ok(())
}

impl ModuleLabel {
    fn hook_error<H>(self, hook: &CallHook<H>, error: Error) -> Error {
        AutogradError::Hook {
            location: hook.place.to_string(),
            of: self.kind,
            source: Box::new(error),
        }
        .into()
    }
}
