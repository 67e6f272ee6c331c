//! Big-endian elements.

use std::ops::Range;

use super::Contents;
use crate::{DType, Tensor};

/// A tensor whose elements are in `range` in big-endian order; it is a copy.
pub(super) fn big_endian_tensor(
    contents: &Contents,
    dtype: DType,
    shape: &[usize],
    range: Range<usize>,
) -> Result<Tensor, String> {
    let bytes = contents.bytes().get(range);
    let mut bytes = bytes.ok_or("elements past the end of the file")?.to_vec();
    let number = match dtype {
        // The parts of a complex number have a fixed order.
        DType::Complex64 => DType::F32,
        dtype => dtype,
    };
    for number in bytes.chunks_exact_mut(number.size_in_bytes()) {
        number.reverse();
    }
    let length = bytes.len();
    Contents::new(bytes).tensor(dtype, shape, 0..length)
}
