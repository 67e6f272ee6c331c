//! The `Debug` output of a tensor in a module: the values of a large one are left out.

use std::fmt;

use crate::Tensor;

/// The maximum number of elements that are printed individually.
const MAX_PRINTED: usize = 16;

/// Prints a parameter or a buffer: a few values as the tensor prints them, otherwise only the shape and the dtype, so that
/// it stays one line in the struct that holds it, and nothing is copied from a device.
pub(super) fn fmt_tensor(kind: &str, value: &Tensor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value.numel() <= MAX_PRINTED {
        return write!(f, "{kind}({value})");
    }
    let (shape, dtype) = (value.shape(), value.dtype());
    write!(f, "{kind}(shape={shape}, dtype={dtype})")
}
