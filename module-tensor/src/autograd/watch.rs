//! Who watches the backward passes of a thread.

use std::rc::Rc;

use crate::tensor::{Edge, GraphNode};
use crate::watchers::{Watchers, watch_while, watching};

/// A backward pass that begins or ends, as [`watch_passes`] shows it.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum PassEvent<'p> {
    /// A pass begins.
    Begin {
        /// The nodes that it starts from.
        roots: &'p [GraphNode],
        /// The nodes whose gradients are asked for by [`grad`](super::grad), which adds none to leaves; `None`
        /// of [`Tensor::backward`](crate::Tensor::backward), which adds to every leaf.
        inputs: Option<&'p [GraphNode]>,
    },
    /// The pass is over, whether it failed or not.
    End,
}

type Watch = dyn Fn(PassEvent<'_>);

thread_local! {
    static WATCHERS: Watchers<Watch> = const { Watchers::new() };
}

/// Runs `f` with `watch` called as each backward pass on this thread begins and ends.
///
/// A pass outside pays one look at a flag.
///
/// # Example
///
/// ```
/// use std::{cell::Cell, rc::Rc};
///
/// use module_tensor::{Tensor, autograd::{PassEvent, watch_passes}};
///
/// let passes = Rc::new(Cell::new(0));
/// let seen = passes.clone();
/// let watch = move |event: PassEvent<'_>| {
///     if let PassEvent::Begin { roots, .. } = event {
///         assert_eq!(roots[0].name(), "exp");
///         seen.set(seen.get() + 1);
///     }
/// };
/// let x = Tensor::from(2.0_f32).with_grad()?;
/// watch_passes(watch, || x.exp()?.backward())?;
/// x.mul(3.0)?.backward()?;
/// assert_eq!(passes.get(), 1);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn watch_passes<R>(watch: impl Fn(PassEvent<'_>) + 'static, f: impl FnOnce() -> R) -> R {
    watch_while(&WATCHERS, Rc::new(watch), f)
}

/// Tells of the end of a pass when it is dropped.
pub(super) struct Watched(Vec<Rc<Watch>>);

impl Drop for Watched {
    fn drop(&mut self) {
        self.0.iter().for_each(|watch| watch(PassEvent::End));
    }
}

/// Tells of a pass that begins, if somebody watches.
pub(super) fn begin<'e>(
    roots: impl Iterator<Item = &'e Edge>,
    inputs: Option<&[Edge]>,
) -> Option<Watched> {
    let watchers = watching(&WATCHERS)?;
    let roots: Vec<GraphNode> = roots.map(GraphNode::of).collect();
    let inputs = inputs.map(|inputs| inputs.iter().map(GraphNode::of).collect::<Vec<_>>());
    for watch in &watchers {
        watch(PassEvent::Begin {
            roots: &roots,
            inputs: inputs.as_deref(),
        });
    }
    Some(Watched(watchers))
}
