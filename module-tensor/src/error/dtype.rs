use std::fmt;

use super::quote::quote;
use crate::dtype::DType;

/// Why an operation refuses a dtype or the form in which elements are stored.
///
/// # Example
///
/// ```
/// use module_tensor::{DTypeError, ErrorKind, Tensor};
///
/// let error = Tensor::from([1_i64]).exp().unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::DType(DTypeError::Unsupported { .. })), "{error}");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum DTypeError {
    /// Two dtypes where one is needed.
    Mismatch {
        /// The operation.
        op: &'static str,
        /// The left dtype.
        lhs: DType,
        /// The right dtype.
        rhs: DType,
    },

    /// A dtype that the operation does not support.
    Unsupported {
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
}

impl fmt::Display for DTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mismatch { op, lhs, rhs } => write!(
                f,
                "{op}: dtypes {lhs} and {rhs} differ; cast one with `to_dtype`"
            ),
            Self::Unsupported { op, dtype, needs } => {
                write!(f, "{op}: not available for {dtype}; it needs {needs}")
            }
            Self::Packed { op, scheme } => write!(
                f,
                "{op}: the elements are packed as {}; get plain ones with `unpack`, or use an \
                 operation that reads this scheme",
                quote(scheme)
            ),
        }
    }
}

impl std::error::Error for DTypeError {}
