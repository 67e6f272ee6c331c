//! The arguments and results of hooks on forward passes.

use super::tensors::{Tensors, tensors};
use crate::module::Module;
use crate::{Error, Result, Tensor};

/// The result of a hook: nothing, or a [`Result`] whose error fails the call.
///
/// # Example
///
/// ```
/// use module_core::{Call, Error, Identity, ModuleExt, Tensor};
///
/// let layer = Identity::new();
/// let _quiet = layer.register_forward_hook(|call| assert_eq!(call.module().kind(), "Identity"));
/// let _strict = layer.register_forward_hook(|_call| Err::<(), _>(Error::custom("not today")));
/// assert!(layer.call(Tensor::from([1.0_f32])).is_err());
/// ```
///
/// ```
/// use module_core::hooks::{ForwardCall, HookResult};
/// use module_core::{Call, Identity, ModuleExt, Result, Tensor};
///
/// /// A hook that runs only for the first call.
/// fn once<R: HookResult>(
///     hook: impl Fn(&mut ForwardCall<'_>) -> R,
/// ) -> impl Fn(&mut ForwardCall<'_>) -> Result<()> {
///     let ran = std::cell::Cell::new(false);
///     move |call| match ran.replace(true) {
///         true => Ok(()),
///         false => hook(call).into_result(),
///     }
/// }
///
/// let layer = Identity::new();
/// let _hook = layer.register_forward_hook(once(|call| call.set_output(Tensor::from([7.0_f32]))));
/// let x = Tensor::from([1.0_f32]);
/// assert_eq!(layer.call(x.clone())?.item::<f32>()?, 7.0);
/// assert_eq!(layer.call(x)?.item::<f32>()?, 1.0);
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait HookResult {
    /// The same as a `Result`.
    ///
    /// # Errors
    ///
    /// Those of the hook.
    fn into_result(self) -> Result<()>;
}

impl HookResult for () {
    fn into_result(self) -> Result<()> {
        Ok(())
    }
}

impl HookResult for Result<()> {
    fn into_result(self) -> Result<()> {
        self
    }
}

/// A call that is about to happen, as a forward pre-hook sees it.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleExt, Tensor};
///
/// let layer = Identity::new();
/// let _hook = layer.register_forward_pre_hook(|call| call.set_inputs(vec![call.inputs()[0].neg()?]));
/// assert_eq!(layer.call(Tensor::from([1.0_f32]))?.to_vec::<f32>()?, [-1.0]);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::hooks::{ForwardPreCall, HookSet};
/// use module_core::{Call, Identity, Result, Sequential, Tensor};
///
/// /// Refuses inputs without a graph, with the path of the layer.
/// fn check(call: &mut ForwardPreCall<'_>) -> Result<()> {
///     match call.tracked_inputs().iter().all(Tensor::requires_grad) {
///         true => Ok(()),
///         false => Err(module_core::Error::custom(format!("`{}` is cut off", call.path()))),
///     }
/// }
///
/// let net = Sequential::new().push(Identity::new());
/// let _hooks = HookSet::forward_pre(&net, "0", check)?;
/// assert!(net.call(Tensor::from([1.0_f32]).with_grad()?).is_ok());
/// let error = net.call(Tensor::from([1.0_f32])).unwrap_err();
/// assert!(error.to_string().contains("`0` is cut off"), "{error}");
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct ForwardPreCall<'c> {
    pub(super) module: &'c dyn Module,
    pub(super) path: &'c str,
    pub(super) input: &'c mut dyn Tensors,
}

impl ForwardPreCall<'_> {
    /// The module that is called.
    pub fn module(&self) -> &dyn Module {
        self.module
    }

    /// The path of the module in the tree of a [`HookSet`](super::HookSet); empty for the outermost
    /// module and for a hook that was registered on one module.
    pub fn path(&self) -> &str {
        self.path
    }

    /// The tensors of the input, detached.
    pub fn inputs(&self) -> Vec<Tensor> {
        self.tracked_inputs().iter().map(Tensor::detach).collect()
    }

    /// The first tensor of the input, detached.
    ///
    /// # Errors
    ///
    /// An input without tensors.
    pub fn input(&self) -> Result<Tensor> {
        first("input", self.inputs())
    }

    /// The tensors of the input as they are, with their graph.
    pub fn tracked_inputs(&self) -> Vec<Tensor> {
        tensors(self.input)
    }

    /// Replaces the tensors of the input, in their order; later hooks and `forward` see these.
    ///
    /// # Errors
    ///
    /// Another number of tensors than the input has, or borrowed ones; nothing is replaced.
    pub fn set_inputs(&mut self, inputs: Vec<Tensor>) -> Result<()> {
        replace("set_inputs", self.input, inputs)
    }

    /// [`set_inputs`](Self::set_inputs) for an input of one tensor.
    ///
    /// # Errors
    ///
    /// As [`set_inputs`](Self::set_inputs).
    pub fn set_input(&mut self, input: Tensor) -> Result<()> {
        replace("set_input", self.input, vec![input])
    }
}

/// A finished call, as passed to a forward hook.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleExt, Tensor};
///
/// let layer = Identity::new();
/// let _hook = layer.register_forward_hook(|call| {
///     assert_eq!((call.module().kind(), call.inputs().len(), call.outputs().len()), ("Identity", 1, 1));
/// });
/// layer.call(Tensor::from([1.0_f32]))?;
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::hooks::ForwardCall;
/// use module_core::{Call, Identity, ModuleExt, Result, Tensor};
///
/// /// Adds the input to each output, with the gradients of both.
/// fn residual(call: &mut ForwardCall<'_>) -> Result<()> {
///     let inputs = call.tracked_inputs();
///     let outputs = call.tracked_outputs();
///     let sums = outputs.iter().zip(&inputs).map(|(y, x)| y.add(x));
///     call.set_outputs(sums.collect::<Result<_>>()?)
/// }
///
/// let layer = Identity::new();
/// let _hook = layer.register_forward_hook(residual);
/// let x = Tensor::from([1.0_f32]).with_grad()?;
/// layer.call(x.clone())?.sum(..)?.backward()?;
/// assert_eq!(x.grad().unwrap().item::<f32>()?, 2.0);
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct ForwardCall<'c> {
    pub(super) module: &'c dyn Module,
    pub(super) path: &'c str,
    pub(super) inputs: &'c [Tensor],
    /// `None` if the call failed before there was one.
    pub(super) output: Option<&'c mut dyn Tensors>,
    pub(super) failed: bool,
}

impl ForwardCall<'_> {
    /// The module that was called.
    pub fn module(&self) -> &dyn Module {
        self.module
    }

    /// The path of the module in the tree of a [`HookSet`](super::HookSet); empty for the outermost
    /// module and for a hook that was registered on one module.
    pub fn path(&self) -> &str {
        self.path
    }

    /// Whether the call has failed, which only hooks with
    /// [`always_call`](super::HookOptions::always_call) come to know.
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// The tensors of the input, detached.
    pub fn inputs(&self) -> Vec<Tensor> {
        self.inputs.iter().map(Tensor::detach).collect()
    }

    /// The tensors of the input as they are, with their graph.
    pub fn tracked_inputs(&self) -> Vec<Tensor> {
        self.inputs.to_vec()
    }

    /// The tensors of the output, detached, so that a hook that keeps them keeps no graph alive; none
    /// if `forward` failed.
    pub fn outputs(&self) -> Vec<Tensor> {
        self.tracked_outputs().iter().map(Tensor::detach).collect()
    }

    /// The first tensor of the output, detached.
    ///
    /// # Errors
    ///
    /// An output without tensors.
    pub fn output(&self) -> Result<Tensor> {
        first("output", self.outputs())
    }

    /// The tensors of the output as they are, with their graph.
    pub fn tracked_outputs(&self) -> Vec<Tensor> {
        self.output.as_deref().map(tensors).unwrap_or_default()
    }

    /// Replaces the tensors of the output, in their order; later hooks and the caller see these.
    ///
    /// # Errors
    ///
    /// Another number of tensors than the output has, or borrowed ones, or no output because `forward`
    /// failed; nothing is replaced.
    pub fn set_outputs(&mut self, outputs: Vec<Tensor>) -> Result<()> {
        self.replace_outputs("set_outputs", outputs)
    }

    /// [`set_outputs`](Self::set_outputs) for an output of one tensor.
    ///
    /// # Errors
    ///
    /// As [`set_outputs`](Self::set_outputs).
    pub fn set_output(&mut self, output: Tensor) -> Result<()> {
        self.replace_outputs("set_output", vec![output])
    }

    fn replace_outputs(&mut self, op: &'static str, outputs: Vec<Tensor>) -> Result<()> {
        match self.output.as_deref_mut() {
            Some(output) => replace(op, output, outputs),
            None => {
                let problem = "the call failed, so that there is no output to replace";
                Err(Error::argument(op, "count", outputs.len(), problem))
            }
        }
    }
}

fn first(what: &'static str, tensors: Vec<Tensor>) -> Result<Tensor> {
    let first = tensors.into_iter().next();
    first.ok_or_else(|| Error::argument(what, "index", 0, format!("the {what} holds no tensor")))
}

fn replace(op: &'static str, value: &mut dyn Tensors, with: Vec<Tensor>) -> Result<()> {
    let mut expected = 0;
    value.for_each(&mut |_| expected += 1);
    if with.len() != expected {
        let problem = format!("must be the number of tensors, {expected}");
        return Err(Error::argument(op, "count", with.len(), problem));
    }
    let mut replaceable = 0;
    value.for_each_mut(&mut |_| replaceable += 1);
    if replaceable != expected {
        let problem = format!("only {replaceable} of them can be replaced; the rest is borrowed");
        return Err(Error::argument(op, "count", expected, problem));
    }
    let mut with = with.into_iter();
    value.for_each_mut(&mut |tensor| {
        if let Some(replacement) = with.next() {
            *tensor = replacement;
        }
    });
    Ok(())
}
