//! Dtypes that are only stored, and those that their elements are moved as.

use crate::DType;

/// The dtype as which elements that are only stored are moved.
pub(super) fn carrier(dtype: DType) -> Option<DType> {
    match dtype {
        DType::I8 | DType::F8E4M3 | DType::F8E5M2 => Some(DType::U8),
        DType::I16 | DType::U16 => Some(DType::F16),
        DType::U32 => Some(DType::I32),
        // Complex numbers are as wide as `f64`, but not aligned as such; they are moved as themselves.
        _ => None,
    }
}
