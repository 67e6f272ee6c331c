use std::fmt;
use std::panic::Location;

use super::{Edge, GraphNode, PostAccumulateHookHandle, Tensor};
use crate::Result;

/// A slot that accumulates a gradient, independent of any value: a parameter has one in addition to its current tensor.
///
/// The value may be replaced while the gradient, its hooks and every graph recorded before stay those of the leaf. Clones
/// are the same leaf.
///
/// # Example
///
/// ```
/// use module_tensor::{Leaf, Tensor};
///
/// let leaf = Leaf::new();
/// let mut value = Tensor::from([1.0_f32, 2.0]);
/// for _ in 0..2 {
///     leaf.track(&value).mul(&value)?.sum(..)?.backward()?;
///     let step = leaf.grad().unwrap().mul(-0.5)?;
///     leaf.set_grad(None);
///     value = value.add(&step)?;
/// }
/// assert_eq!(value.to_vec::<f32>()?, [0.25, 0.5]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use module_tensor::{Leaf, Tensor};
///
/// let (leaf, value) = (Leaf::new(), Tensor::from(3.0_f32));
/// let count = Arc::new(AtomicUsize::new(0));
/// let counter = count.clone();
/// let hook = leaf.register_post_accumulate_grad_hook(move || {
///     counter.fetch_add(1, Ordering::Relaxed);
///     Ok(())
/// });
/// let x = leaf.track(&value);
/// assert_eq!(Some(leaf.graph_node().id()), x.graph_node().map(|node| node.id()));
/// x.mul(&x)?.backward()?;
/// assert_eq!((leaf.grad().unwrap().item::<f32>()?, count.load(Ordering::Relaxed)), (6.0, 1));
///
/// // A paused leaf keeps its gradient.
/// hook.remove();
/// leaf.set_requires_grad(false);
/// let y = leaf.track(&value);
/// y.mul(&x)?.backward()?;
/// assert_eq!((leaf.grad().unwrap().item::<f32>()?, count.load(Ordering::Relaxed)), (6.0, 1));
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone)]
pub struct Leaf(Edge);

impl Leaf {
    /// A new leaf without a gradient.
    #[must_use]
    pub fn new() -> Self {
        Self(Edge::leaf())
    }

    /// The value as this leaf: its gradient is accumulated here. A value that cannot have one is not tracked.
    #[inline]
    #[must_use]
    pub fn track(&self, value: &Tensor) -> Tensor {
        Tensor {
            edge: value.is_differentiable().then(|| self.0.clone()),
            ..value.clone()
        }
    }

    /// The gradient that `backward` left.
    #[inline]
    #[must_use]
    pub fn grad(&self) -> Option<Tensor> {
        self.0.grad()
    }

    /// Replaces the gradient, or drops it. The caller must check that it matches the value.
    #[inline]
    pub fn set_grad(&self, grad: Option<Tensor>) {
        self.0.set_grad(grad);
    }

    /// The node of this leaf in every graph that contains it.
    pub fn graph_node(&self) -> GraphNode {
        GraphNode::of(&self.0)
    }

    /// Whether the leaf accumulates gradients. If not, graphs recorded before add none either; the existing gradient stays.
    pub fn set_requires_grad(&self, requires_grad: bool) {
        self.0.set_requires_grad(requires_grad);
    }

    /// Registers `hook` to be called as soon as a backward pass has added the whole gradient, like
    /// [`Tensor::register_post_accumulate_grad_hook`] with a tensor.
    #[track_caller]
    pub fn register_post_accumulate_grad_hook(
        &self,
        hook: impl Fn() -> Result<()> + Send + Sync + 'static,
    ) -> PostAccumulateHookHandle {
        let location = Location::caller();
        self.0
            .register_post_accumulate_grad_hook(location, move |_| hook())
    }
}

impl Default for Leaf {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Leaf(grad: {:?})", self.grad())
    }
}
