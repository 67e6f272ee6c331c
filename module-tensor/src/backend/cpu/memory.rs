//! Memory for the results of kernels.

use super::aligned_vec::AlignedVec;
use super::blocks::reserve;
use super::dispatch::dispatch;
use super::{Element, HostData};
use crate::{DType, Result};

/// Smaller blocks are not asked for: a system that cannot give them cannot go on at all.
const LARGE: usize = 1 << 26;

/// Checks that there is room for `len` elements, so that a size beyond memory is an error and does
/// not end the program.
///
/// The block is given back at once and asked for again by the kernel, which keeps fresh zeros
/// unwritten; large blocks come straight from the system, so that this costs little.
#[inline]
pub(crate) fn check_allocatable<T>(len: usize) -> Result<()> {
    if len
        .checked_mul(size_of::<T>())
        .is_some_and(|bytes| bytes < LARGE)
    {
        return Ok(());
    }
    reserve::<T>(len).map(|mut block| {
        // Without this the compiler may see that the block is not used and leave the question out.
        std::hint::black_box(block.as_mut_ptr());
    })
}

/// Returns `len` elements of unspecified value, for a caller that overwrites them all.
#[inline]
pub(crate) fn scratch<T: Element>(len: usize) -> Result<AlignedVec<T>> {
    check_allocatable::<T>(len)?;
    Ok(AlignedVec::unspecified(len))
}

impl HostData {
    /// Makes `len` elements of unspecified value, for a caller that overwrites them all.
    ///
    /// # Errors
    ///
    /// Not enough memory.
    pub fn unspecified(dtype: DType, len: usize) -> Result<Self> {
        dispatch!(dtype, T => {
            check_allocatable::<T>(len)?;
            // Zeros come from the allocator without being written.
            Ok(T::into_host(vec![T::default(); len]))
        })
    }
}

/// `len` elements of one value.
pub(super) fn filled<T: Element>(len: usize, value: T) -> Result<AlignedVec<T>> {
    let mut block = AlignedVec::with_capacity(len)?;
    block.resize(len, value);
    Ok(block)
}
