use std::fmt;

use crate::layout::Shape;

/// Why a gradient was not computed, or is wrong.
///
/// # Example
///
/// ```
/// use module_tensor::{AutogradError, ErrorKind, Tensor};
///
/// let error = Tensor::from([1.0_f32]).backward().unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Autograd(AutogradError::BackwardUntracked)), "{error}");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AutogradError {
    /// `backward` without a gradient on a tensor of more or fewer than one element.
    NonScalar {
        /// The shape of the tensor.
        shape: Shape,
    },

    /// `backward` on a tensor that nothing tracks.
    BackwardUntracked,

    /// An operation on the gradient of an untracked tensor.
    Untracked {
        /// The operation.
        op: &'static str,
    },

    /// A second backward pass through a graph whose saved values are freed.
    GraphFreed {
        /// The operation.
        op: &'static str,
    },

    /// An operation in the graph that has no gradient.
    NoGradient {
        /// The operation.
        op: &'static str,
    },

    /// A failed hook on the gradient of a tensor.
    Hook {
        /// The file, line and column that registered it.
        location: String,
        /// The operation whose output it watches; `leaf` for a leaf.
        of: &'static str,
        /// The error that it raised.
        source: Box<super::Error>,
    },

    /// A gradient with an infinity or a NaN, if anomalies are checked for.
    NonFinite {
        /// The operation in whose backward it appeared.
        op: &'static str,
        /// The index of the input.
        input: usize,
        /// The shape of the input.
        shape: Shape,
        /// The index of the first such element in row-major order.
        element: usize,
        /// The element.
        value: f64,
    },

    /// An operation that returned the wrong number of gradients.
    GradientCount {
        /// The operation.
        op: &'static str,
        /// The number of inputs.
        expected: usize,
        /// The number of gradients.
        got: usize,
    },

    /// Operations whose recomputation in the backward pass differs from the first run.
    Recomputed {
        /// The operation whose gradient was requested.
        op: &'static str,
        /// The first difference.
        problem: String,
    },

    /// A gradient that differs from the central difference.
    GradCheck {
        /// The index of the input.
        input: usize,
        /// The index of the element in row-major order.
        element: usize,
        /// The derivative according to the gradient.
        analytic: f64,
        /// The derivative according to the central difference.
        numeric: f64,
    },
}

impl fmt::Display for AutogradError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NonScalar { shape } => write!(
                f,
                "backward: a gradient can be created for one element only, got shape {shape}; \
                 reduce to a scalar or use `backward_with`"
            ),
            Self::BackwardUntracked => f.write_str(
                "backward: the tensor does not require a gradient and was not computed from one \
                 that does; is everything frozen or detached, or computed under `no_grad`?",
            ),
            Self::Untracked { op } => write!(
                f,
                "{op}: the tensor requires no gradient; make it a leaf with `with_grad`, or compute \
                 it from one outside `no_grad`"
            ),
            Self::GraphFreed { op } => write!(
                f,
                "backward: the saved values of `{op}` were freed by an earlier backward; keep them \
                 with `retain_graph`"
            ),
            Self::Recomputed { op, problem } => write!(
                f,
                "backward of `{op}`: the recomputation gave {problem}; a checkpointed function must do \
                 the same each time"
            ),
            Self::NoGradient { op } => write!(
                f,
                "backward: `{op}` has no gradient; use `detach` before it if none is wanted"
            ),
            Self::Hook {
                location,
                of,
                source,
            } => write!(
                f,
                "backward: the hook registered at {location} on the gradient of `{of}`: {source}"
            ),
            Self::NonFinite {
                op,
                input,
                shape,
                element,
                value,
            } => write!(
                f,
                "backward: `{op}` gave input {input}, of shape {shape}, a gradient of {value} at \
                 element {element}, the first that is not finite"
            ),
            Self::GradientCount { op, expected, got } => write!(
                f,
                "backward: `{op}` returned {got} gradient(s) for {expected} input(s)"
            ),
            Self::GradCheck {
                input,
                element,
                analytic,
                numeric,
            } => write!(
                f,
                "gradcheck: the gradient of element {element} of input {input} is {analytic:?}, but \
                 the central difference is {numeric:?}"
            ),
        }
    }
}

impl std::error::Error for AutogradError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Hook { source, .. } => Some(source),
            _ => None,
        }
    }
}
