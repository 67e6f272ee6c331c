//! Gradients of means of whole planes: in a plane they are the same everywhere.

#[cfg(test)]
mod tests;

use super::float::Float;
use super::lanes::number;
use super::map::FloatKernel;
use super::memory::scratch;
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Operand, Storage, check_allocatable};
use crate::Result;

/// Each number of `grad`, divided, as a plane of `size` elements; at least one.
pub(super) struct Spread<'a> {
    pub(super) grad: &'a Operand,
    pub(super) size: usize,
    pub(super) divisor: f64,
}

impl FloatKernel for Spread<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "avg_pool"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self {
            grad,
            size,
            divisor,
        } = self;
        let (grad, divisor) = (to_row_major::<T>(grad)?, number::<T>(divisor));
        let len = grad.len().saturating_mul(size);
        check_allocatable::<T>(len)?;
        let mut planes = scratch(len)?;
        let items = Items(&mut planes, size);
        parallel_for(grad.len(), 2 + size / 8, items, &|range, out| {
            for (plane, &v) in out.0.chunks_exact_mut(size).zip(&grad[range]) {
                plane.fill(v / divisor);
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(planes))
    }
}
