mod freezing;
mod initialize;
mod packed;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use super::fmt_tensor::fmt_tensor;
use super::history::History;
use super::{Field, FieldRole, Init, TensorId, Visitor, VisitorMut, overrides};
use crate::{DType, Device, GraphNode, Leaf, PostAccumulateHookHandle, Result, Shape, Tensor};

/// A trainable tensor of a module.
///
/// It is a handle with a changeable value: optimizers, loading and casts set it through a shared reference. It is not
/// `Clone`, so that nothing is tied by accident; two modules share one tensor by [`share`](Self::share).
///
/// # Example
///
/// ```
/// use module_core::{Parameter, Tensor};
///
/// let weight = Parameter::new(Tensor::from([1.0_f32, 2.0]))?;
/// weight.tensor().sum(..)?.backward()?;
/// assert_eq!(weight.grad().unwrap().to_vec::<f32>()?, [1.0, 1.0]);
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::module::ConstantInit;
/// use module_core::{ModuleExt, Parameter, StateDict, Tensor, deferred};
///
/// // Values may come later; a gradient may be given.
/// let net = vec![deferred(|| Parameter::with_init([2], ConstantInit(0.5)))?];
/// let weight = &net[0];
/// assert!(!weight.has_values());
/// let state = StateDict::from_iter([("0", Tensor::from([1.0_f32, 2.0]))]);
/// let _ = net.load_state_dict(&state)?;
/// assert!(weight.has_values() && weight.is_loaded());
/// weight.set_grad(Tensor::from([0.1_f32, 0.2]))?;
/// assert!(weight.set_grad(Tensor::from([0.1_f32])).is_err());
///
/// // Other values until the guard is dropped.
/// let zeros = StateDict::from_iter([("0", Tensor::from([0.0_f32, 0.0]))]);
/// let swapped = net.swap_state_dict(&zeros)?;
/// assert!(weight.is_swapped() && weight.detach().to_vec::<f32>()? == [0.0, 0.0]);
/// drop(swapped);
/// assert!(!weight.is_swapped() && weight.detach().to_vec::<f32>()? == [1.0, 2.0]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct Parameter(Arc<Inner>);

struct Inner {
    state: RwLock<State>,
    /// The leaf that accumulates the gradient; it stays the same when the value changes.
    leaf: Leaf,
    history: RwLock<History>,
    /// Whether the value came from a state dict.
    loaded: AtomicBool,
    /// Whether the value is temporarily swapped.
    swapped: AtomicBool,
}

struct State {
    value: Tensor,
    requires_grad: bool,
    /// Whether it was frozen, not just paused; then `requires_grad` is false.
    frozen: bool,
    /// How often it was frozen.
    freezes: u64,
}

impl Parameter {
    /// A parameter with these values, which cannot be redrawn.
    ///
    /// # Errors
    ///
    /// A dtype that carries no gradient (`DType::is_differentiable`); packed elements: use a `Buffer`, or replace plain
    /// values with [`set_packed`](Self::set_packed).
    pub fn new(value: Tensor) -> Result<Self> {
        Self::from_parts(value, History::default())
    }

    fn from_parts(value: Tensor, history: History) -> Result<Self> {
        if let Some(packed) = value.storage().packed() {
            let (op, scheme) = ("parameter", packed.scheme());
            return Err(crate::DTypeError::Packed { op, scheme }.into());
        }
        if !value.dtype().is_differentiable() {
            let needs = "a floating-point tensor; use a `Buffer`";
            return Err(value.dtype().error("parameter", needs));
        }
        let state = State {
            value: value.detach(),
            requires_grad: true,
            frozen: false,
            freezes: 0,
        };
        Ok(Self(Arc::new(Inner {
            state: RwLock::new(state),
            leaf: Leaf::new(),
            history: RwLock::new(history),
            loaded: AtomicBool::new(false),
            swapped: AtomicBool::new(false),
        })))
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        // Writers assign whole values, so a panicking writer leaves none half written.
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.0.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of `f` on the value: the one that this thread sees instead, or the parameter's own. `f` must not use
    /// this parameter, which is locked.
    #[doc(hidden)]
    pub fn of_value<R>(&self, f: impl FnOnce(&Tensor) -> R) -> R {
        match overrides::get(self.id()) {
            Some(value) => f(&value),
            None => f(&self.read().value),
        }
    }

    /// The value, tracked unless the parameter is paused or frozen. In a [`functional_call`](crate::functional_call), this
    /// and all other methods that read or set the value use the given one, with its graph.
    pub fn tensor(&self) -> Tensor {
        if let Some(value) = overrides::get(self.id()) {
            return value;
        }
        let state = self.read();
        match state.requires_grad {
            true => self.0.leaf.track(&state.value),
            false => state.value.clone(),
        }
    }

    /// The value, untracked.
    pub fn detach(&self) -> Tensor {
        self.of_value(Tensor::detach)
    }

    /// The size of each dimension.
    pub fn shape(&self) -> Shape {
        self.of_value(|value| value.shape().clone())
    }

    /// The number of elements.
    pub fn numel(&self) -> usize {
        self.of_value(Tensor::numel)
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.of_value(Tensor::dtype)
    }

    /// The device of the elements.
    pub fn device(&self) -> Device {
        self.of_value(Tensor::device)
    }

    /// Replaces the value; the identity, the gradient and every tie stay.
    ///
    /// # Errors
    ///
    /// A value of a different shape, dtype or device.
    pub fn set(&self, value: Tensor) -> Result<()> {
        if let Some(old) = overrides::get(self.id()) {
            check_same("set", &old, &value)?;
            overrides::exchange(self.id(), &mut value.detach());
            return Ok(());
        }
        let mut state = self.write();
        check_same("set", &state.value, &value)?;
        state.value = value.detach();
        Ok(())
    }

    /// Lets `update` write over the value, which nobody reads meanwhile: for the optimizer steps of `module-nn`, which need
    /// the only handle to its memory. `update` must keep shape, dtype and device, and must not access this parameter, which
    /// is locked.
    #[doc(hidden)]
    pub fn update_in_place(&self, update: impl FnOnce(&mut Tensor) -> Result<()>) -> Result<()> {
        if let Some(value) = overrides::get(self.id()) {
            let mut value = value.detach();
            update(&mut value)?;
            overrides::exchange(self.id(), &mut value);
            return Ok(());
        }
        update(&mut self.write().value)
    }

    /// Replaces the value by a loaded one of the same shape. The gradient stays, unless its dtype would differ from the
    /// value's; a gradient that another thread adds meanwhile is not lost.
    pub(crate) fn load(&self, value: Tensor) {
        let mut value = value.detach();
        if overrides::exchange(self.id(), &mut value) {
            return;
        }
        let mut state = self.write();
        std::mem::swap(&mut state.value, &mut value);
        let cast = state.value.dtype() != value.dtype();
        drop(state);
        if cast {
            self.0.leaf.set_grad(None);
        }
    }

    /// Replaces the value and the gradient by casts or moved copies of them.
    pub(crate) fn replace(&self, value: Tensor, grad: Option<Tensor>) {
        let mut value = value.detach();
        if overrides::exchange(self.id(), &mut value) {
            return;
        }
        self.write().value = value;
        self.0.leaf.set_grad(grad);
    }

    /// Whether [`swap_state_dict`](crate::ModuleExt::swap_state_dict) has temporarily replaced the value.
    pub fn is_swapped(&self) -> bool {
        self.0.swapped.load(Ordering::Relaxed)
    }

    /// Marks the value as swapped or not, and returns the previous mark.
    pub(crate) fn mark_swapped(&self, swapped: bool) -> bool {
        self.0.swapped.swap(swapped, Ordering::AcqRel)
    }

    /// Whether the parameter has values; one made by [`deferred`](crate::deferred) has none until they are loaded or drawn.
    pub fn has_values(&self) -> bool {
        self.of_value(Tensor::has_values)
    }

    /// The gradient that `backward` left.
    pub fn grad(&self) -> Option<Tensor> {
        self.0.leaf.grad()
    }

    /// The graph node that accumulates the gradient, also while the parameter is paused or frozen; it stays the same when
    /// the value changes.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Parameter, Tensor};
    ///
    /// let weight = Parameter::new(Tensor::from(2.0_f32))?;
    /// assert_eq!(weight.tensor().graph_node(), Some(weight.graph_node()));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn graph_node(&self) -> GraphNode {
        self.0.leaf.graph_node()
    }

    /// Replaces the gradient.
    ///
    /// # Errors
    ///
    /// A gradient whose shape or dtype differs from the value's.
    pub fn set_grad(&self, grad: Tensor) -> Result<()> {
        let value = self.detach();
        check_shape("set_grad", value.shape(), &grad)?;
        value.check_same("set_grad", &grad)?;
        self.0.leaf.set_grad(Some(grad.detach()));
        Ok(())
    }

    /// Drops the gradient.
    pub fn zero_grad(&self) {
        self.0.leaf.set_grad(None);
    }

    /// Calls `hook` with this parameter as soon as a backward pass has added its whole gradient to [`grad`](Self::grad),
    /// before the pass continues: PyTorch's `register_post_accumulate_grad_hook`.
    ///
    /// Gradients can be sent to other processes while the pass continues, or used by an optimizer step and dropped at once,
    /// so that they are never all in memory together. If the pass fails later, this parameter has already changed; without
    /// such hooks, a failed pass changes no parameter.
    ///
    /// # Errors
    ///
    /// In the pass, the hook's error, as [`AutogradError::Hook`](crate::AutogradError::Hook).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Parameter, Tensor};
    ///
    /// let weight = Parameter::new(Tensor::from([1.0_f32, 2.0]))?;
    /// let hook = weight.register_post_accumulate_grad_hook(|weight| {
    ///     let step = weight.grad().unwrap().mul(-0.5)?;
    ///     weight.zero_grad();
    ///     weight.set(weight.detach().add(&step)?)
    /// });
    /// weight.tensor().mul(4.0)?.sum(..)?.backward()?;
    /// assert_eq!(weight.detach().to_vec::<f32>()?, [-1.0, 0.0]);
    /// # drop(hook);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[track_caller]
    pub fn register_post_accumulate_grad_hook(
        &self,
        hook: impl Fn(&Self) -> Result<()> + Send + Sync + 'static,
    ) -> PostAccumulateHookHandle {
        // The parameter owns the hook.
        let parameter = Arc::downgrade(&self.0);
        let leaf = &self.0.leaf;
        leaf.register_post_accumulate_grad_hook(move || match parameter.upgrade() {
            Some(parameter) => hook(&Self(parameter)),
            // A graph may outlive the parameter.
            None => Ok(()),
        })
    }

    /// Another handle to this parameter: a tie.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Parameter, Tensor};
    ///
    /// let encoder = Parameter::new(Tensor::from([1.0_f32]))?;
    /// let decoder = encoder.share();
    /// decoder.set(Tensor::from([5.0_f32]))?;
    /// assert_eq!(encoder.tensor().item::<f32>()?, 5.0);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[must_use]
    pub fn share(&self) -> Self {
        Self(self.0.clone())
    }

    /// Keeps the identity from being reused by another tensor.
    pub(super) fn weak(&self) -> Weak<dyn Any + Send + Sync> {
        let shared: Arc<dyn Any + Send + Sync> = self.0.clone();
        Arc::downgrade(&shared)
    }

    /// Directs users to [`share`](Self::share): the compiler finds it before `Clone::clone` of a reference.
    #[doc(hidden)]
    #[allow(clippy::should_implement_trait)] // It exists to be refused.
    pub fn clone(&self) -> Self
    where
        for<'a> Self: super::MayBeCloned,
    {
        self.share()
    }

    /// The identity, equal for tied handles.
    pub fn id(&self) -> TensorId {
        TensorId::of(&self.0)
    }
}

/// Values that would broadcast are refused: a parameter has one shape for its lifetime.
pub(super) fn check_shape(op: &'static str, expected: &Shape, value: &Tensor) -> Result<()> {
    if value.shape() == expected {
        return Ok(());
    }
    Err(value
        .shape()
        .error(op, format!("a value of shape {expected}")))
}

/// Refuses a value whose shape, dtype or device differs from the old one's.
fn check_same(op: &'static str, old: &Tensor, value: &Tensor) -> Result<()> {
    check_shape(op, old.shape(), value)?;
    old.check_same(op, value)
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt_tensor("Parameter", &self.tensor(), f)
    }
}

#[diagnostic::do_not_recommend]
impl Field for Parameter {
    const ROLE: FieldRole = FieldRole::Parameter;

    fn visit_field<'a>(&'a self, name: &str, visitor: &mut dyn Visitor<'a>) {
        visitor.parameter(name, self);
    }

    fn visit_field_mut<'a>(&'a mut self, name: &str, visitor: &mut dyn VisitorMut<'a>) {
        visitor.parameter(name, self);
    }
}
