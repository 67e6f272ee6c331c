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
        let key = |v: f64| {
            if v.is_nan() {
                return nan;
            }
            // For negative numbers, greater bits mean a smaller number.
            let bits = (v + 0.0).to_bits() as i64;
            bits ^ (((bits >> 63) as u64) >> 1) as i64
        };
        let values = self.to_dtype(DType::F64)?.to_vec::<f64>()?;
        Ok(values.into_iter().map(key).collect())
    }
}
