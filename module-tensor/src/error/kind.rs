use super::{AutogradError, DTypeError, DeviceError, RngError, ShapeError};

/// The kinds of errors, by domain. Messages are lower case, quote the values and say what to do if there is a remedy.
///
/// # Example
///
/// ```
/// use module_tensor::{ErrorKind, Tensor};
///
/// let error = Tensor::from([1.0_f32, 2.0]).matmul(&Tensor::from([1.0_f32])).unwrap_err();
/// match error.kind() {
///     ErrorKind::Shape(problem) => println!("{problem}"),
///     other => panic!("{other:?}"),
/// }
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A shape, a dimension or an index that does not match.
    Shape(ShapeError),

    /// A dtype, or a form of storage, that an operation does not accept.
    DType(DTypeError),

    /// A device other than the required one, or an error of the device itself.
    Device(DeviceError),

    /// A gradient that cannot be computed, or is wrong.
    Autograd(AutogradError),

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

    /// A matrix that cannot be decomposed, solved or inverted.
    Factorization {
        /// The operation.
        op: &'static str,
        /// The index of the matrix in the batch, in row-major order.
        matrix: usize,
        /// A description of the problem.
        problem: String,
    },

    /// A tensor that has no values yet.
    NoValues {
        /// Its key or its shape.
        what: String,
    },

    /// A tensor whose elements have been released ([`ReleasableMemory`](crate::ReleasableMemory)).
    Released {
        /// Its key or its shape.
        what: String,
    },

    /// A draw that the generator refuses.
    Random(RngError),

    /// An error of the operating system without a file name, as user code returns it with `?`.
    Io(std::io::Error),

    /// The error of another crate, or anything that user code returns from a `forward`, a hook or an initializer;
    /// [`Error::downcast_ref`](super::Error::downcast_ref) finds its type.
    Custom(Box<dyn std::error::Error + Send + Sync>),
}
