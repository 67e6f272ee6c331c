//! Elements of index tensors, checked before they are used.

use super::Operand;
use super::simd::{Loop, run_at_best_level};
use super::view::{RowMajor, to_row_major};
use crate::{Error, Result, ShapeError};

/// The elements of an index tensor, each of which is below `size`.
pub(super) fn checked_indices<'a>(
    op: &'static str,
    index: &'a Operand,
    size: usize,
) -> Result<RowMajor<'a, i64>> {
    let indices = to_row_major::<i64>(index)?;
    check_indices(op, &indices, size)?;
    Ok(indices)
}

/// Checks that all indices are below `size`.
pub(super) fn check_indices(op: &'static str, indices: &[i64], size: usize) -> Result<()> {
    match run_at_best_level(AnyOutside(indices, size)) {
        true => Err(index_error(op, indices, size)),
        false => Ok(()),
    }
}

/// Whether an index is negative or too large for a dimension.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn is_outside(index: i64, size: usize) -> bool {
    // A negative number becomes a large one.
    index as u64 >= size as u64
}

/// The error of the first index that is out of range.
#[cold]
pub(super) fn index_error(op: &'static str, indices: &[i64], size: usize) -> Error {
    let found = indices.iter().find(|&&index| is_outside(index, size));
    let index = found.copied().unwrap_or_default();
    ShapeError::Index { op, index, size }.into()
}

/// Whether any index is negative or too large for a dimension of this size.
struct AnyOutside<'a>(&'a [i64], usize);

impl Loop for AnyOutside<'_> {
    type Output = bool;

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) -> bool {
        let Self(indices, size) = self;
        // All are looked at, so that the loop has no branch.
        indices
            .iter()
            .fold(false, |any, &index| any | is_outside(index, size))
    }
}
