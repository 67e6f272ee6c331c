//! The arguments of full backward hooks.

use crate::autograd::check_gradient;
use crate::module::ModuleId;
use crate::{DType, Device, DeviceError, Error, Result, Shape, Tensor};

/// The backward pass of one call that is about to go through a module, as a full backward pre-hook
/// sees it.
///
/// The module itself may be gone by then; its type, identity and path remain.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleExt, Tensor};
///
/// let layer = Identity::new();
/// let _hook = layer.register_full_backward_pre_hook(|call| assert_eq!(call.kind(), "Identity"));
/// layer.call(Tensor::from([1.0_f32]).with_grad()?)?.sum(..)?.backward()?;
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::hooks::BackwardPreCall;
/// use module_core::{Call, Identity, ModuleExt, Result, Tensor};
///
/// /// Halves the gradient that reaches the module.
/// fn halve(call: &mut BackwardPreCall<'_>) -> Result<()> {
///     let half = |grad: &Option<Tensor>| grad.as_ref().map(|grad| grad.mul(0.5)).transpose();
///     let grads = call.tracked_grad_outputs().iter().map(half).collect::<Result<_>>()?;
///     call.set_grad_outputs(grads)
/// }
///
/// let layer = Identity::new();
/// let _hook = layer.register_full_backward_pre_hook(halve);
/// let x = Tensor::from([1.0_f32]).with_grad()?;
/// layer.call(x.clone())?.sum(..)?.backward()?;
/// assert_eq!(x.grad().unwrap().item::<f32>()?, 0.5);
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct BackwardPreCall<'c> {
    pub(super) of: ModuleLabel,
    pub(super) path: &'c str,
    pub(super) specs: &'c [TensorSpec],
    pub(super) grad_outputs: &'c mut Vec<Option<Tensor>>,
}

/// The backward pass of one call that has gone through a module, as a full backward hook sees it.
///
/// The module itself may be gone by then; its type, identity and path remain.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, ModuleExt, Tensor};
///
/// let layer = Identity::new();
/// let _hook = layer.register_full_backward_hook(|call| {
///     assert_eq!((call.grad_inputs().len(), call.grad_outputs().len()), (1, 1));
/// });
/// layer.call(Tensor::from([1.0_f32]).with_grad()?)?.sum(..)?.backward()?;
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::hooks::BackwardCall;
/// use module_core::{Call, Identity, ModuleExt, Result, Tensor};
///
/// /// Reverses the gradient, as networks for domain adaptation do.
/// fn reverse(call: &mut BackwardCall<'_>) -> Result<()> {
///     assert_eq!(call.tracked_grad_outputs().len(), 1);
///     let negative = |grad: &Option<Tensor>| grad.as_ref().map(Tensor::neg).transpose();
///     let grads = call.tracked_grad_inputs().iter().map(negative).collect::<Result<_>>()?;
///     call.set_grad_inputs(grads)
/// }
///
/// let layer = Identity::new();
/// let _hook = layer.register_full_backward_hook(reverse);
/// let x = Tensor::from([1.0_f32]).with_grad()?;
/// layer.call(x.clone())?.sum(..)?.backward()?;
/// assert_eq!(x.grad().unwrap().item::<f32>()?, -1.0);
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct BackwardCall<'c> {
    pub(super) of: ModuleLabel,
    pub(super) path: &'c str,
    /// The shapes and dtypes of the inputs, if one of them is tracked.
    pub(super) specs: Option<&'c [TensorSpec]>,
    pub(super) grad_inputs: &'c mut Vec<Option<Tensor>>,
    pub(super) grad_outputs: &'c [Option<Tensor>],
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
                detach_all(&self.grad_outputs)
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
            Some(self.specs),
            self.grad_outputs,
            grads,
        )
    }
}

impl BackwardCall<'_> {
    /// The gradients of the inputs, in their order, detached. An input that needs none has one of
    /// zeros if another input needs one; if none does, all are `None`.
    pub fn grad_inputs(&self) -> Vec<Option<Tensor>> {
        detach_all(self.grad_inputs)
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
        replace("set_grad_inputs", self.specs, self.grad_inputs, grads)
    }
}

fn detach_all(grads: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
    let detached = |grad: &Option<Tensor>| grad.as_ref().map(Tensor::detach);
    grads.iter().map(detached).collect()
}

fn replace(
    op: &'static str,
    specs: Option<&[TensorSpec]>,
    grads: &mut Vec<Option<Tensor>>,
    with: Vec<Option<Tensor>>,
) -> Result<()> {
    if with.len() != grads.len() {
        let problem = format!("must be the number of tensors, {}", grads.len());
        return Err(Error::argument(op, "count", with.len(), problem));
    }
    for (i, grad) in with.iter().enumerate() {
        let Some(grad) = grad else { continue };
        match specs.and_then(|specs| specs.get(i)) {
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

/// The shape, dtype and device that a gradient must have.
pub(super) struct TensorSpec {
    pub(super) shape: Shape,
    pub(super) dtype: DType,
    device: Device,
}

impl TensorSpec {
    pub(super) fn of(tensor: &Tensor) -> Self {
        Self {
            shape: tensor.shape().clone(),
            dtype: tensor.dtype(),
            device: tensor.device(),
        }
    }

    pub(super) fn zeros(&self) -> Result<Tensor> {
        Tensor::zeros(&self.shape, (self.dtype, &self.device))
    }

    fn check(&self, op: &'static str, grad: &Tensor) -> Result<()> {
        check_gradient(op, &self.shape, self.dtype, grad)?;
        if self.device == grad.device() {
            return Ok(());
        }
        let (lhs, rhs) = (self.device.to_string(), grad.device().to_string());
        Err(DeviceError::Mismatch { op, lhs, rhs }.into())
    }
}

/// The module that was called.
#[derive(Clone, Copy)]
pub(super) struct ModuleLabel {
    pub(super) kind: &'static str,
    pub(super) id: ModuleId,
}
