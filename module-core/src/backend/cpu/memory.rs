//! Asking for memory before an allocation that cannot be refused.

use crate::{ErrorKind, Result};

/// Smaller blocks are not asked for: a system that cannot give them cannot go on at all.
const LARGE: usize = 1 << 26;

/// Checks that there is room for `len` elements, so that a size beyond memory is an error and does
/// not end the program.
///
/// The block is given back at once and asked for again by the kernel, which keeps fresh zeros
/// unwritten; large blocks come straight from the system, so that this costs little.
pub(crate) fn room<T>(len: usize) -> Result<()> {
    if len
        .checked_mul(size_of::<T>())
        .is_some_and(|bytes| bytes < LARGE)
    {
        return Ok(());
    }
    let mut block: Vec<T> = Vec::new();
    block.try_reserve_exact(len).map_err(|_| {
        let shape = len.into();
        ErrorKind::TooLarge {
            op: "allocation",
            shape,
        }
    })?;
    // Without this the compiler may see that the block is not used and leave the question out.
    std::hint::black_box(block.as_mut_ptr());
    Ok(())
}
