//! Elements of one number.

use super::dispatch::dispatch;
use super::memory::{check_allocatable, filled, zeros};
use super::number::FromScalar;
use super::{CpuStorage, Storage};
use crate::{DType, Result, Scalar};

pub(super) fn full(numel: usize, dtype: DType, value: Scalar) -> Result<Storage> {
    // -0.0 has other bits.
    let is_zero = value.to_f64().to_bits() == 0;
    dispatch!(dtype, T => {
        check_allocatable::<T>(numel)?;
        Ok(CpuStorage::wrap(match is_zero {
            true => zeros::<T>(numel),
            false => filled::<T>(numel, FromScalar::from_scalar(value))?,
        }))
    })
}
