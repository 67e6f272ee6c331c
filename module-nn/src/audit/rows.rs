//! Rows of batches, compared by their values.

use super::stats::values;
use crate::{DType, Tensor};

/// Whether all rows of a tensor with this many rows are equal; `None` for another shape or values that cannot be compared.
pub(super) fn rows_equal(tensor: &Tensor, count: usize) -> Option<bool> {
    if tensor.rank() < 2 || tensor.size(0).ok()? != count || tensor.numel() == 0 {
        return None;
    }
    let values = match tensor.dtype() {
        dtype if dtype.is_floating_point() => values(tensor)?,
        dtype if dtype.is_complex() => return None,
        _ => crate::no_grad(|| tensor.to_dtype(DType::F32)?.to_vec::<f32>()).ok()?,
    };
    let (first, rest) = values.split_at(values.len() / count);
    match values.iter().all(|value| value.is_finite()) {
        true => Some(rest.chunks(first.len()).all(|row| row == first)),
        false => None,
    }
}

/// Whether some rows of a tensor with this many rows differ.
pub(super) fn rows_differ(tensor: &Tensor, count: usize) -> bool {
    rows_equal(tensor, count) == Some(false)
}
