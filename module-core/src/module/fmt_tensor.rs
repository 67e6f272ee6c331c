//! The `Debug` output of a tensor in a module: the values of a large one are left out.

use std::fmt;

use crate::Tensor;

/// The most elements that are printed one by one.
const MAX_PRINTED: usize = 16;

/// Prints a parameter or a buffer: few values as the tensor prints them, and of many the shape and the dtype, so
/// that it stays a line in the struct that holds it, and nothing is fetched from a device.
pub(super) fn fmt_tensor(kind: &str, value: &Tensor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value.numel() <= MAX_PRINTED {
        return write!(f, "{kind}({value})");
    }
    let (shape, dtype) = (value.shape(), value.dtype());
    write!(f, "{kind}(shape={shape}, dtype={dtype})")
}
