use std::fmt;

use super::quote::passage;
use crate::layout::{MAX_RANK, Shape};

/// Why a shape, a dimension or an index does not match.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, ErrorKind, Tensor};
///
/// let error = Tensor::zeros([2, 3], DType::F32)?.add(&Tensor::zeros([4], DType::F32)?).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Shape(_)), "{error}");
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ShapeError {
    /// Two shapes that do not broadcast.
    Broadcast {
        /// The operation.
        op: &'static str,
        /// The left shape.
        lhs: Shape,
        /// The right shape.
        rhs: Shape,
    },

    /// Two shapes that are incompatible for a reason other than broadcasting.
    Mismatch {
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
    Unexpected {
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

    /// More dimensions than a tensor can have.
    Rank {
        /// The operation.
        op: &'static str,
        /// The number of dimensions asked for.
        rank: usize,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broadcast { op, lhs, rhs } => write!(
                f,
                "{op}: shapes {lhs} and {rhs} cannot be broadcast together"
            ),
            Self::Mismatch { op, lhs, rhs, rule } => {
                write!(f, "{op}: {lhs} and {rhs} do not fit: {}", passage(rule))
            }
            Self::Unexpected { op, expected, got } => {
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
        }
    }
}

impl std::error::Error for ShapeError {}
