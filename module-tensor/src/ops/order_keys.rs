//! Integer keys that sort like the elements, so that comparisons are compiled once.

use crate::tensor::Tensor;
use crate::{DType, Result};

impl Tensor {
    /// An integer for each element, in row-major order, that sorts like the elements: equal ones, including the two zeros,
    /// have the same key. NaN gets `nan`, which no number has if it is an extreme of `i64`; `op` is the calling operation.
    pub(super) fn order_keys(&self, op: &'static str, nan: i64) -> Result<Vec<i64>> {
        self.check_computed(op)?;
        if !self.dtype().is_floating_point() {
            return self.to_dtype(DType::I64)?.to_vec();
        }
        let number_or = |is_nan: bool, key: i64| if is_nan { nan } else { key };
        // For negative numbers, greater bits mean a smaller number.
        if self.dtype() == DType::F64 {
            let key = |v: f64| {
                let bits = (v + 0.0).to_bits() as i64;
                number_or(v.is_nan(), bits ^ (((bits >> 63) as u64) >> 1) as i64)
            };
            return Ok(self.to_vec::<f64>()?.into_iter().map(key).collect());
        }
        let key = |v: f32| {
            let bits = (v + 0.0).to_bits() as i32;
            let key = bits ^ (((bits >> 31) as u32) >> 1) as i32;
            number_or(v.is_nan(), key.into())
        };
        let values = self.to_dtype(DType::F32)?.to_vec::<f32>()?;
        Ok(values.into_iter().map(key).collect())
    }
}
