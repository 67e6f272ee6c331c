//! Elements of one number.

use super::dispatch::dispatch;
use super::memory::scratch;
use super::number::FromScalar;
use super::threads::{Items, parallel_for};
use super::{CpuStorage, Storage};
use crate::{DType, Result, Scalar};

/// The elements that are filled at a time.
const PIECE: usize = 64;

pub(super) fn full(numel: usize, dtype: DType, value: Scalar) -> Result<Storage> {
    dispatch!(dtype, T => {
        let value: T = FromScalar::from_scalar(value);
        let mut out = scratch(numel)?;
        let (pieces, piece_ns) = (numel.div_ceil(PIECE), PIECE / 8);
        parallel_for(pieces, piece_ns, Items(&mut out, PIECE), &|_, out| {
            out.0.fill(value);
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    })
}
