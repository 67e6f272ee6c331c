//! Reductions over one dimension or all, whose result depends on which.

use std::ops::RangeFull;

use crate::Result;
use crate::tensor::Tensor;

/// The dimension argument of [`max`](Tensor::max), [`min`](Tensor::min) and [`median`](Tensor::median): with
/// a dimension they return values and indices, with `..` one value.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::from([[1_i64, 7], [5, 3]]);
/// assert_eq!(x.max(..)?.item::<i64>()?, 7);
/// let (values, indices) = x.max(1)?;
/// assert_eq!((values.to_vec::<i64>()?, indices.to_vec::<i64>()?), (vec![7, 5], vec![1, 0]));
/// # Ok::<(), module_tensor::Error>(())
/// ```
///
/// ```
/// use module_tensor::{ReduceDim, Result, Tensor};
///
/// /// The greatest magnitude, with its index if there is a dimension.
/// fn max_abs<D: ReduceDim>(x: &Tensor, dim: D) -> Result<D::Output> {
///     x.abs()?.max(dim)
/// }
///
/// let (_, index) = max_abs(&Tensor::from([1_i64, -5, 3]), 0)?;
/// assert_eq!(index.item::<i64>()?, 1);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a dimension nor `..`",
    label = "expected an `isize` or `..`",
    note = "`amax` and `amin` reduce several dimensions, without indices"
)]
pub trait ReduceDim: sealed::Sealed {
    /// A value, or values and indices.
    type Output;

    /// Calls the function for the kind of dimension.
    #[doc(hidden)]
    fn reduce(
        self,
        along: impl FnOnce(isize) -> Result<(Tensor, Tensor)>,
        over_all: impl FnOnce() -> Result<Tensor>,
    ) -> Result<Self::Output>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for isize {}
    impl Sealed for std::ops::RangeFull {}
}

impl ReduceDim for isize {
    type Output = (Tensor, Tensor);

    fn reduce(
        self,
        along: impl FnOnce(Self) -> Result<(Tensor, Tensor)>,
        _: impl FnOnce() -> Result<Tensor>,
    ) -> Result<Self::Output> {
        along(self)
    }
}

impl ReduceDim for RangeFull {
    type Output = Tensor;

    fn reduce(
        self,
        _: impl FnOnce(isize) -> Result<(Tensor, Tensor)>,
        over_all: impl FnOnce() -> Result<Tensor>,
    ) -> Result<Self::Output> {
        over_all()
    }
}
