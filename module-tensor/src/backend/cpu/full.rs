//! Elements of one number.

use super::dispatch::dispatch;
use super::memory::{check_allocatable, filled};
use super::number::FromScalar;
use super::{CpuStorage, Storage};
use crate::{DType, Result, Scalar};

pub(super) fn full(numel: usize, dtype: DType, value: Scalar) -> Result<Storage> {
    dispatch!(dtype, T => {
        let value: T = FromScalar::from_scalar(value);
        check_allocatable::<T>(numel)?;
        // Zeros come from the allocator without being written.
        Ok(CpuStorage::wrap(filled(numel, value)?))
    })
}
