//! Elements of one number.

use super::dispatch::dispatch;
use super::memory::scratch;
use super::number::FromScalar;
use super::threads::{Items, parallel_for};
use super::{CpuStorage, Element, Storage};
use crate::{DType, Result, Scalar};

/// The elements that are filled at a time.
const PIECE: usize = 64;

pub(super) fn full(numel: usize, dtype: DType, value: Scalar) -> Result<Storage> {
    dispatch!(dtype, T => {
        let value: T = FromScalar::from_scalar(value);
        // Zeros that the compiler sees are written by the system's function, in three quarters of the time.
        let is_zero = T::as_le_bytes(&[value]).is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0));
        let mut out = scratch(numel)?;
        let (pieces, piece_ns) = (numel.div_ceil(PIECE), PIECE / 8);
        parallel_for(pieces, piece_ns, Items(&mut out, PIECE), &|_, out| {
            match is_zero {
                true => out.0.fill(T::default()),
                false => out.0.fill(value),
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    })
}
