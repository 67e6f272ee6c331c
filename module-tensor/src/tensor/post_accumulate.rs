//! Hooks that run as soon as a leaf has its whole gradient.

use std::panic::Location;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use super::node::Node;
use super::{Edge, Tensor};
use crate::{AutogradError, Result};

/// The number of hooks: without any, a pass does not count the gradients of leaves.
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn post_accumulate_hooks_exist() -> bool {
    COUNT.load(Ordering::Acquire) > 0
}

pub(super) type PostAccumulateCallback = Arc<dyn Fn(&Edge) -> Result<()> + Send + Sync>;

/// Removes its hook from a leaf when it is dropped: with `let _ = …` at once, with `let _hook = …` at the end of the
/// block.
///
/// # Example
///
/// ```
/// use module_tensor::{PostAccumulateHookHandle, Tensor};
///
/// let x = Tensor::from([3.0_f32]).with_grad()?;
/// let drops: PostAccumulateHookHandle = x.register_post_accumulate_grad_hook(|x| {
///     x.zero_grad();
///     Ok(())
/// })?;
/// x.sum(..)?.backward()?;
/// assert!(x.grad().is_none());
/// drops.remove();
/// x.sum(..)?.backward()?;
/// assert!(x.grad().is_some());
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[must_use = "dropping the handle removes the hook"]
pub struct PostAccumulateHookHandle {
    /// Weak, so that a handle keeps no memory alive.
    leaf: Weak<Node>,
    number: u64,
}

impl PostAccumulateHookHandle {
    /// Removes the hook now.
    pub fn remove(self) {}
}

impl Drop for PostAccumulateHookHandle {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::AcqRel);
        if let Some(leaf) = self.leaf.upgrade()
            && let Some(hooks) = leaf.grad_hooks_of(0)
        {
            hooks.post_accumulate.remove(self.number);
        }
    }
}

impl std::fmt::Debug for PostAccumulateHookHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PostAccumulateHookHandle({})", self.number)
    }
}

impl Edge {
    /// Registers `callback` to be called with this leaf.
    pub(crate) fn register_post_accumulate_grad_hook(
        &self,
        location: &'static Location<'static>,
        callback: impl Fn(&Self) -> Result<()> + Send + Sync + 'static,
    ) -> PostAccumulateHookHandle {
        let hooks = self.node.make_grad_hooks(self.output);
        let number = match hooks {
            Some(hooks) => hooks.post_accumulate.register(location, Arc::new(callback)),
            None => 0,
        };
        COUNT.fetch_add(1, Ordering::AcqRel);
        let leaf = Arc::downgrade(&self.node);
        PostAccumulateHookHandle { leaf, number }
    }

    pub(crate) fn has_post_accumulate_hooks(&self) -> bool {
        let hooks = self.node.grad_hooks_of(self.output);
        self.is_leaf() && hooks.is_some_and(|hooks| !hooks.post_accumulate.is_empty())
    }

    /// Runs the current hooks.
    pub(crate) fn run_post_accumulate_hooks(&self) -> Result<()> {
        let Some(hooks) = self.node.grad_hooks_of(self.output) else {
            return Ok(());
        };
        for hook in hooks.post_accumulate.to_vec() {
            (hook.callback)(self).map_err(|source| AutogradError::Hook {
                location: hook.location.to_string(),
                of: self.node.name(),
                source: Box::new(source),
            })?;
        }
        Ok(())
    }
}

impl Tensor {
    /// Registers `hook` to be called with this leaf as soon as a backward pass has added its whole gradient to
    /// [`grad`](Self::grad), before the pass continues: PyTorch's `Tensor.register_post_accumulate_grad_hook`.
    ///
    /// If the hook takes an optimizer step and then drops the gradient, only one gradient at a time is in memory. If the
    /// pass fails later, this leaf has already changed; without such hooks, a failed pass changes no leaf.
    /// [`autograd::grad`](crate::autograd::grad) accumulates nothing and calls no such hook.
    ///
    /// # Errors
    ///
    /// A tensor that is not a leaf. In the pass, the hook's error, as [`AutogradError::Hook`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    /// use std::sync::Mutex;
    /// use std::sync::Arc;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0]).with_grad()?;
    /// let seen = Arc::new(Mutex::new(Vec::new()));
    /// let log = seen.clone();
    /// let hook = x.register_post_accumulate_grad_hook(move |x| {
    ///     log.lock().unwrap().extend(x.grad().unwrap().to_vec::<f32>()?);
    ///     x.zero_grad();
    ///     Ok(())
    /// })?;
    /// x.mul(&x)?.sum(..)?.backward()?;
    /// assert_eq!(*seen.lock().unwrap(), [2.0, 4.0]);
    /// assert!(x.grad().is_none());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn register_post_accumulate_grad_hook(
        &self,
        hook: impl Fn(&Self) -> Result<()> + Send + Sync + 'static,
    ) -> Result<PostAccumulateHookHandle> {
        const NAME: &str = "register_post_accumulate_grad_hook";
        let location = Location::caller();
        let edge = self
            .edge
            .as_ref()
            .ok_or(AutogradError::Untracked { op: NAME })?;
        if !edge.is_leaf() {
            let problem = "is not a leaf, and its gradient is not accumulated; use `register_hook`";
            return Err(crate::Error::argument(
                NAME,
                "tensor",
                edge.node.name(),
                problem,
            ));
        }
        // Without its edge, because the leaf owns the hook.
        let value = self.detach();
        Ok(
            edge.register_post_accumulate_grad_hook(location, move |edge| {
                hook(&Self {
                    edge: Some(edge.clone()),
                    ..value.clone()
                })
            }),
        )
    }
}
