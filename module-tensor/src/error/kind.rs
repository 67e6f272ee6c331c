use crate::dtype::DType;
use crate::layout::Shape;

/// What can go wrong. Messages are lower case, quote the values and say what to do where there is
/// something to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Two shapes that do not broadcast.
    Broadcast {
        /// The operation.
        op: &'static str,
        /// The left shape.
        lhs: Shape,
        /// The right shape.
        rhs: Shape,
    },

    /// Two shapes that do not fit each other for another reason than broadcasting.
    ShapeMismatch {
        /// The operation.
        op: &'static str,
        /// The left shape.
        lhs: Shape,
        /// The right shape.
        rhs: Shape,
        /// The rule for the shapes.
        rule: String,
    },

    /// A tensor with the wrong number of dimensions or the wrong size in one.
    Shape {
        /// The operation.
        op: &'static str,
        /// A description of the accepted shapes.
        expected: String,
        /// The shape given.
        got: Shape,
    },

    /// A dimension that the tensor does not have.
    Dimension {
        /// The operation.
        op: &'static str,
        /// The dimension given.
        dim: isize,
        /// The shape of the tensor.
        shape: Shape,
    },

    /// An index past the end of a dimension.
    Index {
        /// The operation.
        op: &'static str,
        /// The index given.
        index: i64,
        /// The size of the dimension.
        size: usize,
    },

    /// A shape whose number of elements or bytes does not fit the address space.
    TooLarge {
        /// The operation.
        op: &'static str,
        /// The shape asked for.
        shape: Shape,
    },

    /// More dimensions than a tensor has.
    Rank {
        /// The operation.
        op: &'static str,
        /// The number of dimensions asked for.
        rank: usize,
    },

    /// Two dtypes where one is needed.
    DTypeMismatch {
        /// The operation.
        op: &'static str,
        /// The left dtype.
        lhs: DType,
        /// The right dtype.
        rhs: DType,
    },

    /// A dtype that the operation does not serve.
    UnsupportedDType {
        /// The operation.
        op: &'static str,
        /// The dtype given.
        dtype: DType,
        /// A description of the dtypes that the operation needs.
        needs: &'static str,
    },

    /// Packed elements where plain ones are needed.
    Packed {
        /// The operation.
        op: &'static str,
        /// The scheme in which the elements are packed.
        scheme: &'static str,
    },

    /// Two devices where one is needed.
    DeviceMismatch {
        /// The operation.
        op: &'static str,
        /// The left device.
        lhs: String,
        /// The right device.
        rhs: String,
    },

    /// Something that a backend does not do.
    Unavailable {
        /// The operation.
        op: &'static str,
        /// The device.
        device: String,
    },

    /// An unknown device.
    UnknownDevice {
        /// The device asked for.
        device: String,
        /// The names of the known devices.
        known: String,
    },

    /// Two backends that would be one device.
    DeviceTaken {
        /// The device.
        device: String,
    },

    /// Memory that a device does not have.
    OutOfMemory {
        /// The device.
        device: String,
        /// The number of bytes that were asked for.
        bytes: usize,
    },

    /// Any other error of a device, perhaps of an earlier operation.
    Device {
        /// The device.
        device: String,
        /// The error of the device.
        source: Box<dyn std::error::Error + Send + Sync>,
    },

    /// A matrix that cannot be decomposed, solved or inverted.
    Factorization {
        /// The operation.
        op: &'static str,
        /// The index of the matrix in the batch, in row-major order.
        matrix: usize,
        /// A description of the problem.
        problem: String,
    },

    /// Any other argument that cannot be used.
    Argument {
        /// The operation or the constructor.
        op: &'static str,
        /// The argument.
        name: &'static str,
        /// Its value.
        value: String,
        /// A description of the problem.
        problem: String,
    },

    /// `backward` without a gradient on a tensor of more or fewer than one element.
    BackwardNonScalar {
        /// The shape of the tensor.
        shape: Shape,
    },

    /// `backward` on a tensor that nothing tracks.
    BackwardUntracked,

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

    /// A question about the gradient of a tensor that nothing tracks.
    Untracked {
        /// The operation.
        op: &'static str,
    },

    /// A hook on the gradient of a tensor that failed.
    GradHook {
        /// The file, line and column that registered it.
        place: String,
        /// The operation whose output it watches; `leaf` for a leaf.
        of: &'static str,
        /// The error that it raised.
        source: Box<super::Error>,
    },

    /// A gradient with an infinity or a NaN, where anomalies are looked for.
    NonFiniteGradient {
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

    /// A gradient that differs from the central difference.
    GradCheck {
        /// The index of the input.
        input: usize,
        /// The index of the element in row-major order.
        element: usize,
        /// The slope by the gradient.
        analytic: f64,
        /// The slope by the central difference.
        numeric: f64,
    },

    /// A tensor whose values are still to come.
    NoValues {
        /// Its key or its shape.
        what: String,
    },

    /// A draw that the generator refuses.
    Random(super::RngError),

    /// An error of the operating system without a file name, as user code raises it by `?`.
    Io(std::io::Error),

    /// The error of another crate, or anything that user code raises from a `forward`, a hook or an
    /// initializer; [`Error::downcast_ref`](super::Error::downcast_ref) finds its type.
    Custom(Box<dyn std::error::Error + Send + Sync>),
}
