use thiserror::Error;

use super::quote::{passage, quote};
use crate::dtype::DType;
use crate::layout::{MAX_RANK, Shape};

/// What can go wrong. Messages are lower case, quote the values and say what to do where there is
/// something to do.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Two shapes that do not broadcast.
    #[error("{op}: shapes {lhs} and {rhs} cannot be broadcast together")]
    Broadcast {
        /// The operation.
        op: &'static str,
        /// The left shape.
        lhs: Shape,
        /// The right shape.
        rhs: Shape,
    },

    /// Two shapes that do not fit each other for another reason than broadcasting.
    #[error("{op}: {lhs} and {rhs} do not fit: {}", passage(rule))]
    ShapeMismatch {
        /// The operation.
        op: &'static str,
        /// The left shape.
        lhs: Shape,
        /// The right shape.
        rhs: Shape,
        /// What must hold.
        rule: String,
    },

    /// A tensor with the wrong number of dimensions or the wrong size in one.
    #[error("{op}: expected {}, got shape {got}", passage(expected))]
    Shape {
        /// The operation.
        op: &'static str,
        /// What is accepted.
        expected: String,
        /// The shape given.
        got: Shape,
    },

    /// A dimension that the tensor does not have.
    #[error("{op}: dimension {dim} is out of range for shape {shape}, which has {} dimension(s)", shape.rank())]
    Dimension {
        /// The operation.
        op: &'static str,
        /// The dimension given.
        dim: isize,
        /// The shape of the tensor.
        shape: Shape,
    },

    /// An index past the end of a dimension.
    #[error("{op}: index {index} is out of range for size {size}")]
    Index {
        /// The operation.
        op: &'static str,
        /// The index given.
        index: i64,
        /// The size of the dimension.
        size: usize,
    },

    /// A shape whose number of elements or bytes does not fit the address space.
    #[error("{op}: a tensor of shape {shape} is too large for memory")]
    TooLarge {
        /// The operation.
        op: &'static str,
        /// The shape asked for.
        shape: Shape,
    },

    /// More dimensions than a tensor has.
    #[error("{op}: {rank} dimensions are more than the {MAX_RANK} that a tensor may have")]
    Rank {
        /// The operation.
        op: &'static str,
        /// The number of dimensions asked for.
        rank: usize,
    },

    /// Two dtypes where one is needed.
    #[error("{op}: dtypes {lhs} and {rhs} differ; cast one with `to_dtype`")]
    DTypeMismatch {
        /// The operation.
        op: &'static str,
        /// The left dtype.
        lhs: DType,
        /// The right dtype.
        rhs: DType,
    },

    /// A dtype that the operation does not serve.
    #[error("{op}: not available for {dtype}; it needs {needs}")]
    UnsupportedDType {
        /// The operation.
        op: &'static str,
        /// The dtype given.
        dtype: DType,
        /// What it serves.
        needs: &'static str,
    },

    /// Packed elements where plain ones are needed.
    #[error(
        "{op}: the elements are packed as {}; get plain ones with `unpack`, or use an operation that reads \
         this scheme",
        quote(scheme)
    )]
    Packed {
        /// The operation.
        op: &'static str,
        /// The scheme in which the elements are packed.
        scheme: &'static str,
    },

    /// Two devices where one is needed.
    #[error(
        "{op}: tensors are on {} and {}; move one with `to_device`",
        quote(lhs),
        quote(rhs)
    )]
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// The left device.
        lhs: String,
        /// The right device.
        rhs: String,
    },

    /// Something that a backend does not do.
    #[error("{op}: not available on {}", quote(device))]
    Unavailable {
        /// The operation.
        op: &'static str,
        /// The device.
        device: String,
    },

    /// A device that is not there.
    #[error(
        "device `{}` is not there; there are: {}. The crate of a device registers it",
        quote(device),
        passage(known)
    )]
    UnknownDevice {
        /// The device asked for.
        device: String,
        /// Those that there are.
        known: String,
    },

    /// Two backends that would be one device.
    #[error(
        "device `{}` is another backend's already; give this one another index",
        quote(device)
    )]
    DeviceTaken {
        /// The device.
        device: String,
    },

    /// Memory that a device does not have.
    #[error(
        "{}: no memory for {bytes} bytes; free tensors or use smaller batches",
        quote(device)
    )]
    OutOfMemory {
        /// The device.
        device: String,
        /// How many bytes were asked for.
        bytes: usize,
    },

    /// Anything else that a device says, perhaps of an operation that was asked for earlier.
    #[error("{}: {source}", quote(device))]
    Device {
        /// The device.
        device: String,
        /// What it says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// A matrix that cannot be decomposed, solved or inverted.
    #[error("{op}: matrix {matrix} of the batch {}", passage(problem))]
    Factorization {
        /// The operation.
        op: &'static str,
        /// The place of the matrix in the batch, in row-major order.
        matrix: usize,
        /// What is wrong with it.
        problem: String,
    },

    /// Any other argument that cannot be used.
    #[error("{op}: {name} = {}: {}", quote(value), passage(problem))]
    Argument {
        /// The operation or the constructor.
        op: &'static str,
        /// The argument.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },

    /// `backward` without a gradient on a tensor of more or fewer than one element.
    #[error(
        "backward: a gradient can be created for one element only, got shape {shape}; reduce to a scalar or use `backward_with`"
    )]
    BackwardNonScalar {
        /// The shape of the tensor.
        shape: Shape,
    },

    /// `backward` on a tensor that nothing tracks.
    #[error(
        "backward: the tensor does not require a gradient and was not computed from one that does"
    )]
    BackwardUntracked,

    /// A second backward pass through a graph whose saved values are freed.
    #[error(
        "backward: the saved values of `{op}` were freed by an earlier backward; keep them with `retain_graph`"
    )]
    GraphFreed {
        /// The operation.
        op: &'static str,
    },

    /// An operation in the graph that has no gradient.
    #[error("backward: `{op}` has no gradient; use `detach` before it if none is wanted")]
    NoGradient {
        /// The operation.
        op: &'static str,
    },

    /// A question about the gradient of a tensor that nothing tracks.
    #[error(
        "{op}: the tensor requires no gradient; make it a leaf by `with_grad`, or compute it from one outside `no_grad`"
    )]
    Untracked {
        /// The operation.
        op: &'static str,
    },

    /// A hook on the gradient of a tensor that failed.
    #[error("backward: the hook registered at {place} on the gradient of `{of}`: {source}")]
    GradHook {
        /// The file, line and column that registered it.
        place: String,
        /// The operation whose output it watches; `leaf` for a leaf.
        of: &'static str,
        /// What it raised.
        source: Box<super::Error>,
    },

    /// A gradient with an infinity or a NaN, where anomalies are looked for.
    #[error(
        "backward: `{op}` gave input {input}, of shape {shape}, a gradient of {value} at element {element}, the first that is not finite"
    )]
    NonFiniteGradient {
        /// The operation in whose backward it appeared.
        op: &'static str,
        /// The place of the input.
        input: usize,
        /// The shape of the input.
        shape: Shape,
        /// The place of the first such element in row-major order.
        element: usize,
        /// The element.
        value: f64,
    },

    /// An operation that returned the wrong number of gradients.
    #[error("backward: `{op}` returned {got} gradient(s) for {expected} input(s)")]
    GradientCount {
        /// The operation.
        op: &'static str,
        /// The number of inputs.
        expected: usize,
        /// The number of gradients.
        got: usize,
    },

    /// A gradient that differs from the central difference.
    #[error(
        "gradcheck: the gradient of element {element} of input {input} is {analytic:?}, but the central difference is {numeric:?}"
    )]
    GradCheck {
        /// The place of the input.
        input: usize,
        /// The place of the element in row-major order.
        element: usize,
        /// What the gradient says.
        analytic: f64,
        /// What the difference says.
        numeric: f64,
    },

    /// A tensor whose values are still to come.
    #[error(
        "{} has no values yet; load a checkpoint or call `reset_parameters`",
        quote(what)
    )]
    NoValues {
        /// Its key or its shape.
        what: String,
    },

    /// A draw that the generator refuses.
    #[error(transparent)]
    Random(#[from] super::RngError),

    /// What the operating system said where no file is known, as user code raises it by `?`.
    #[error(transparent)]
    Io(#[from] std::io::Error),

    /// The error of another crate, or anything that user code raises from a `forward`, a hook or an
    /// initializer; [`Error::downcast_ref`](super::Error::downcast_ref) finds its type.
    #[error(transparent)]
    Custom(Box<dyn std::error::Error + Send + Sync>),
}
