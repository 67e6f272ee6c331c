//! The message of each kind of error, and what lies behind it.

use std::error::Error;
use std::fmt;

use super::quote::{passage, quote};
use super::{ErrorKind, RngError};
use crate::layout::MAX_RANK;

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broadcast { op, lhs, rhs } => write!(
                f,
                "{op}: shapes {lhs} and {rhs} cannot be broadcast together"
            ),
            Self::ShapeMismatch { op, lhs, rhs, rule } => {
                write!(f, "{op}: {lhs} and {rhs} do not fit: {}", passage(rule))
            }
            Self::Shape { op, expected, got } => {
                write!(f, "{op}: expected {}, got shape {got}", passage(expected))
            }
            Self::Dimension { op, dim, shape } => write!(
                f,
                "{op}: dimension {dim} is out of range for shape {shape}, which has {} dimension(s)",
                shape.rank()
            ),
            Self::Index { op, index, size } => {
                write!(f, "{op}: index {index} is out of range for size {size}")
            }
            Self::TooLarge { op, shape } => {
                write!(f, "{op}: a tensor of shape {shape} is too large for memory")
            }
            Self::Rank { op, rank } => write!(
                f,
                "{op}: {rank} dimensions are more than the {MAX_RANK} that a tensor may have"
            ),
            Self::DTypeMismatch { op, lhs, rhs } => write!(
                f,
                "{op}: dtypes {lhs} and {rhs} differ; cast one with `to_dtype`"
            ),
            Self::UnsupportedDType { op, dtype, needs } => {
                write!(f, "{op}: not available for {dtype}; it needs {needs}")
            }
            Self::Packed { op, scheme } => write!(
                f,
                "{op}: the elements are packed as {}; get plain ones with `unpack`, or use an \
                 operation that reads this scheme",
                quote(scheme)
            ),
            Self::DeviceMismatch { op, lhs, rhs } => write!(
                f,
                "{op}: tensors are on {} and {}; move one with `to_device`",
                quote(lhs),
                quote(rhs)
            ),
            Self::Unavailable { op, device } => {
                write!(f, "{op}: not available on {}", quote(device))
            }
            Self::UnknownDevice { device, known } => write!(
                f,
                "unknown device `{}`; available: {}. To add a device, link and initialize the crate \
                 that registers it",
                quote(device),
                passage(known)
            ),
            Self::DeviceTaken { device } => write!(
                f,
                "device `{}` is already registered by another backend; choose another index",
                quote(device)
            ),
            Self::OutOfMemory { device, bytes } => write!(
                f,
                "{}: no memory for {bytes} bytes; free tensors or use smaller batches",
                quote(device)
            ),
            Self::Device { device, source } => write!(f, "{}: {source}", quote(device)),
            Self::Factorization {
                op,
                matrix,
                problem,
            } => write!(f, "{op}: matrix {matrix} of the batch {}", passage(problem)),
            Self::Argument {
                op,
                name,
                value,
                problem,
            } => write!(f, "{op}: {name} = {}: {}", quote(value), passage(problem)),
            Self::BackwardNonScalar { shape } => write!(
                f,
                "backward: a gradient can be created for one element only, got shape {shape}; \
                 reduce to a scalar or use `backward_with`"
            ),
            Self::BackwardUntracked => f.write_str(
                "backward: the tensor does not require a gradient and was not computed from one \
                 that does",
            ),
            Self::GraphFreed { op } => write!(
                f,
                "backward: the saved values of `{op}` were freed by an earlier backward; keep them \
                 with `retain_graph`"
            ),
            Self::NoGradient { op } => write!(
                f,
                "backward: `{op}` has no gradient; use `detach` before it if none is wanted"
            ),
            Self::Untracked { op } => write!(
                f,
                "{op}: the tensor requires no gradient; make it a leaf by `with_grad`, or compute \
                 it from one outside `no_grad`"
            ),
            Self::GradHook { place, of, source } => write!(
                f,
                "backward: the hook registered at {place} on the gradient of `{of}`: {source}"
            ),
            Self::NonFiniteGradient {
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
            Self::NoValues { what } => write!(
                f,
                "{} has no values yet; load a checkpoint or call `reset_parameters`",
                quote(what)
            ),
            Self::Random(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::Custom(error) => error.fmt(f),
        }
    }
}

impl Error for ErrorKind {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Device { source, .. } => Some(source.as_ref()),
            Self::GradHook { source, .. } => Some(source),
            // These read as the errors themselves, so that what is behind those is behind them.
            Self::Random(error) => error.source(),
            Self::Io(error) => error.source(),
            Self::Custom(error) => error.source(),
            _ => None,
        }
    }
}

impl From<RngError> for ErrorKind {
    fn from(error: RngError) -> Self {
        Self::Random(error)
    }
}

impl From<std::io::Error> for ErrorKind {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}
