use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use super::hook_list::HookList;
use super::node::{Node, Slot};
use super::post_accumulate::PostAccumulateCallback;
use super::{Edge, Tensor, check_gradient};
use crate::{AutogradError, Result};

type Callback = Arc<dyn Fn(&Tensor) -> Result<Option<Tensor>> + Send + Sync>;

/// The hooks on the gradient of one output, and its slot if the gradient is retained.
#[derive(Default)]
pub(crate) struct GradHooks {
    hooks: HookList<Callback>,
    /// The hooks that run when the gradient of a leaf has been accumulated.
    pub(super) post_accumulate: HookList<PostAccumulateCallback>,
    /// The slot that retains the gradient of an operation's output, if requested.
    pub(super) kept: OnceLock<Mutex<Slot>>,
}

/// Removes its hook from a tensor when it is dropped: with `let _ = …` at once, with `let _hook = …` at the end of the
/// block, with [`keep`](Self::keep) never.
///
/// # Example
///
/// ```
/// use module_tensor::{GradHookHandle, Tensor};
///
/// let x = Tensor::from([3.0_f32, -8.0]).with_grad()?;
/// let clip: GradHookHandle = x.register_hook(|grad| Ok(Some(grad.clamp(-1.0, 1.0)?)))?;
/// clip.keep();
/// x.mul(&x)?.sum(..)?.backward()?;
/// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [1.0, -1.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[must_use = "dropping the handle removes the hook"]
pub struct GradHookHandle {
    /// Weak, so that a handle keeps no graph alive.
    node: Weak<Node>,
    output: usize,
    number: u64,
}

impl GradHookHandle {
    /// Removes the hook now.
    pub fn remove(self) {}

    /// Keeps the hook for the lifetime of the tensor, or of a graph that contains it.
    pub fn keep(mut self) {
        self.node = Weak::new();
    }
}

impl Drop for GradHookHandle {
    fn drop(&mut self) {
        if let Some(node) = self.node.upgrade()
            && let Some(hooks) = node.grad_hooks_of(self.output)
        {
            hooks.hooks.remove(self.number);
        }
    }
}

impl fmt::Debug for GradHookHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GradHookHandle({})", self.number)
    }
}

impl Node {
    /// Runs the current hooks on the gradient of an output; `check` sees their replacements.
    #[inline]
    pub(crate) fn run_grad_hooks(
        &self,
        output: usize,
        grad: &mut Tensor,
        check: &dyn Fn(&Tensor) -> Result<()>,
    ) -> Result<()> {
        match self.grad_hooks_of(output) {
            None => Ok(()),
            Some(hooks) => self.run_each(hooks, grad, check),
        }
    }

    fn run_each(
        &self,
        hooks: &GradHooks,
        grad: &mut Tensor,
        check: &dyn Fn(&Tensor) -> Result<()>,
    ) -> Result<()> {
        for hook in hooks.hooks.to_vec() {
            let replace = || {
                let new = (hook.callback)(grad)?;
                if let Some(new) = &new {
                    check_gradient("register_hook", grad.shape(), grad.dtype(), new)?;
                    grad.check_device("register_hook", new)?;
                    check(new)?;
                }
                Ok(new)
            };
            match replace() {
                Ok(None) => {}
                Ok(Some(new)) => *grad = new,
                Err(source) => {
                    return Err(AutogradError::Hook {
                        location: hook.location.to_string(),
                        of: self.name(),
                        source: Box::new(source),
                    }
                    .into());
                }
            }
        }
        Ok(())
    }
}

impl Tensor {
    /// Registers `hook` to be called with the gradient of this tensor in every backward pass that computes it, once it
    /// is complete and before it propagates further: PyTorch's `Tensor.register_hook`.
    ///
    /// The hook's return value replaces the gradient, `None` leaves it. Hooks run in the order of registration, each on
    /// the result of the previous one; those of a leaf run before its gradient is accumulated.
    /// [`autograd::grad`](crate::autograd::grad) calls them too, and returns their result (PyTorch does so unless the
    /// gradient also flows on to another of the inputs). The list is read when the gradient is complete: a hook that is
    /// removed while the others run still runs.
    ///
    /// Clones of a tensor are the same tensor; `parameter.tensor().register_hook(…)` watches a parameter. The hook runs
    /// on the thread of the pass and records operations only in one with `create_graph`. A hook that owns the tensor
    /// itself keeps it alive forever; give it a [`detach`](Self::detach)ed one.
    ///
    /// # Errors
    ///
    /// An untracked tensor. In the pass, the hook's error or a gradient of another shape, dtype or device, as
    /// [`AutogradError::Hook`] with the line that registered it; no leaf is changed.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0]).with_grad()?;
    /// let h = x.mul(3.0)?;
    /// let hook = h.register_hook(|grad| grad.clamp(-1.0, 1.0).map(Some))?;
    /// h.mul(5.0)?.sum(..)?.backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [3.0, 3.0]);
    /// hook.remove();
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn register_hook(
        &self,
        hook: impl Fn(&Self) -> Result<Option<Self>> + Send + Sync + 'static,
    ) -> Result<GradHookHandle> {
        let location = Location::caller();
        let edge = self.tracked_by("register_hook")?;
        let hooks = edge.node.make_grad_hooks(edge.output);
        let number = match hooks {
            Some(hooks) => hooks.hooks.register(location, Arc::new(hook)),
            None => 0,
        };
        Ok(GradHookHandle {
            node: Arc::downgrade(&edge.node),
            output: edge.output,
            number,
        })
    }

    /// Makes backward passes accumulate the gradient of this tensor in [`grad`](Self::grad) although it is not a leaf;
    /// leaves always do so.
    ///
    /// The retained gradient is the result of the hooks, including those registered later. As in PyTorch,
    /// [`autograd::grad`](crate::autograd::grad) adds to it too.
    ///
    /// # Errors
    ///
    /// An untracked tensor.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from(2.0_f32).with_grad()?;
    /// let h = x.mul(3.0)?;
    /// h.retain_grad()?;
    /// h.mul(&h)?.backward()?;
    /// assert_eq!(h.grad().unwrap().item::<f32>()?, 12.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn retain_grad(&self) -> Result<()> {
        let edge = self.tracked_by("retain_grad")?;
        if !edge.is_leaf()
            && let Some(hooks) = edge.node.make_grad_hooks(edge.output)
        {
            hooks.kept.get_or_init(Mutex::default);
        }
        Ok(())
    }

    /// Whether [`retain_grad`](Self::retain_grad) was called on this tensor, which is not a leaf.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from(2.0_f32).with_grad()?;
    /// let h = x.mul(3.0)?;
    /// assert!(!h.retains_grad());
    /// h.retain_grad()?;
    /// assert!(h.retains_grad() && !x.retains_grad());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn retains_grad(&self) -> bool {
        let edge = self.edge.as_ref();
        !self.is_leaf() && edge.is_some_and(Edge::keeps_grad)
    }

    fn tracked_by(&self, op: &'static str) -> Result<&Edge> {
        Ok(self.edge.as_ref().ok_or(AutogradError::Untracked { op })?)
    }
}
