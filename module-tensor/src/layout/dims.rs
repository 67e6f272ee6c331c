//! Dimensions as arguments: several, one or all.

use std::ops::RangeFull;

use smallvec::SmallVec;

use super::sizes::DimVec;
/// Dimensions: one, several, or `..` for all; negative ones count from the end.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(x.sum(..)?.item::<f32>()?, 10.0);
/// assert_eq!(x.sum([0, 1])?.item::<f32>()?, 10.0);
/// assert_eq!(x.sum(-1)?.to_vec::<f32>()?, [3.0, 7.0]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::{Dims, Result, Tensor};
///
/// /// The root of the mean square.
/// fn rms(x: &Tensor, dims: impl Into<Dims>) -> Result<Tensor> {
///     x.mul(x)?.mean(dims)?.sqrt()
/// }
///
/// let x = Tensor::from([[3.0_f32, -3.0], [4.0, 4.0]]);
/// assert_eq!(rms(&x, -1)?.to_vec::<f32>()?, [3.0, 4.0]);
/// assert_eq!((Dims::from(..), rms(&x, ..)?.item::<f32>()?), (Dims::All, 12.5_f32.sqrt()));
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dims {
    /// All of them.
    All,
    /// The dimensions of a list.
    Some(SmallVec<[isize; 4]>),
}

impl From<RangeFull> for Dims {
    fn from(_: RangeFull) -> Self {
        Self::All
    }
}

macro_rules! dims_from {
    ($($type:ty),*) => {$(
        impl From<$type> for Dims {
            fn from(dim: $type) -> Self {
                Self::from([dim].as_slice())
            }
        }

        impl<const N: usize> From<[$type; N]> for Dims {
            fn from(dims: [$type; N]) -> Self {
                Self::from(dims.as_slice())
            }
        }

        impl<const N: usize> From<&[$type; N]> for Dims {
            fn from(dims: &[$type; N]) -> Self {
                Self::from(dims.as_slice())
            }
        }

        impl From<Vec<$type>> for Dims {
            fn from(dims: Vec<$type>) -> Self {
                Self::from(dims.as_slice())
            }
        }

        impl From<&Vec<$type>> for Dims {
            fn from(dims: &Vec<$type>) -> Self {
                Self::from(dims.as_slice())
            }
        }

        impl From<&[$type]> for Dims {
            fn from(dims: &[$type]) -> Self {
                Self::Some(dims.iter().map(|&dim| isize::try_from(dim).unwrap_or(isize::MAX)).collect())
            }
        }
    )*};
}

// An unannotated literal is an `i32`.
dims_from!(i32, isize, usize);

impl From<&DimVec> for Dims {
    fn from(dims: &DimVec) -> Self {
        Self::from(&**dims)
    }
}

/// The dimension that an operation runs along: a single one (negative ones count from the end), or `..` for all of them as
/// one, in row-major order.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
/// assert_eq!(x.argmax(..)?.item::<i64>()?, 3);
/// assert_eq!(x.argmax(0)?.to_vec::<i64>()?, [1, 1]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::Dim;
///
/// assert_eq!((Dim::from(-1), Dim::from(..)), (Dim::One(-1), Dim::All));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dim {
    /// All of them.
    All,
    /// This one.
    One(isize),
}

impl From<isize> for Dim {
    fn from(dim: isize) -> Self {
        Self::One(dim)
    }
}

impl From<RangeFull> for Dim {
    fn from(_: RangeFull) -> Self {
        Self::All
    }
}
