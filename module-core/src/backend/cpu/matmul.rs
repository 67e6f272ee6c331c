//! Matrix products.

use ndarray::{ArrayViewMut2, Axis, Ix2};

use super::map::{NumberKernel, run_number};
use super::number::Number;
use super::view::view;
use super::{CpuStorage, Operand, Storage, room};
use crate::{Error, Result};

/// `[batch, m, k]` times `[batch, k, n]`.
pub(super) fn matmul(a: &Operand, b: &Operand) -> Result<Storage> {
    run_number(a.storage.dtype(), Matmul(a, b))
}

struct Matmul<'a>(&'a Operand, &'a Operand);

impl NumberKernel for Matmul<'_> {
    const NAME: &'static str = "matmul";
    type Output = Storage;

    fn run<T: Number>(self) -> Result<Storage> {
        let Self(a, b) = self;
        let (&[batch, m, _], &[_, _, n]) = (&**a.layout.shape(), &**b.layout.shape()) else {
            return Err(a.layout.shape().error("matmul", "three dimensions"));
        };
        let (a, b) = (view::<T>(a)?, view::<T>(b)?);
        room::<T>(batch * m * n)?;
        let mut out = vec![T::zero(); batch * m * n];
        if out.is_empty() {
            return Ok(CpuStorage::wrap(out));
        }
        for (i, out) in out.chunks_exact_mut(m * n).enumerate() {
            let a = a
                .index_axis(Axis(0), i)
                .into_dimensionality::<Ix2>()
                .map_err(shape)?;
            let b = b
                .index_axis(Axis(0), i)
                .into_dimensionality::<Ix2>()
                .map_err(shape)?;
            let mut out = ArrayViewMut2::from_shape((m, n), out).map_err(shape)?;
            T::multiply(&a, &b, &mut out);
        }
        Ok(CpuStorage::wrap(out))
    }
}

/// Shapes are checked above the backend; a mistake there is reported, not computed with.
fn shape(error: ndarray::ShapeError) -> Error {
    Error::argument(
        "matmul",
        "shape",
        error,
        "the operands do not have the checked shapes",
    )
}
