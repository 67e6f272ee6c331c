//! Integer keys that sort like the elements, so that comparisons are compiled once.

use std::borrow::Cow;

use crate::backend::{Element, host_slice};
use crate::tensor::Tensor;
use crate::{DType, Result};

/// A type with such keys.
pub(super) trait OrderKey: Element {
    /// An integer that sorts like the numbers: equal ones, including the two zeros, have the same. NaN gets `nan`.
    fn order_key(self, nan: i64) -> i64;
}

impl OrderKey for i64 {
    #[inline]
    fn order_key(self, _: i64) -> i64 {
        self
    }
}

impl OrderKey for f32 {
    #[inline]
    fn order_key(self, nan: i64) -> i64 {
        // For negative numbers, greater bits mean a smaller number.
        let bits = (self + 0.0).to_bits() as i32;
        let key = bits ^ (((bits >> 31) as u32) >> 1) as i32;
        if self.is_nan() { nan } else { key.into() }
    }
}

impl OrderKey for f64 {
    #[inline]
    fn order_key(self, nan: i64) -> i64 {
        let bits = (self + 0.0).to_bits() as i64;
        let key = bits ^ (((bits >> 63) as u64) >> 1) as i64;
        if self.is_nan() { nan } else { key }
    }
}

impl Tensor {
    /// An integer for each element, in row-major order, that sorts like the elements. NaN gets `nan`, which no number has if
    /// it is an extreme of `i64`; `op` is the calling operation.
    pub(super) fn order_keys(&self, op: &'static str, nan: i64) -> Result<Vec<i64>> {
        self.check_computed(op)?;
        match self.key_dtype() {
            DType::F64 => keys_of::<f64>(self, nan),
            DType::F32 => keys_of::<f32>(&self.to_dtype(DType::F32)?, nan),
            _ => self.to_dtype(DType::I64)?.to_vec(),
        }
    }

    /// The dtype, one of those with keys, as which the elements have the same order.
    pub(super) fn key_dtype(&self) -> DType {
        match self.dtype() {
            DType::F64 => DType::F64,
            dtype if dtype.is_floating_point() => DType::F32,
            _ => DType::I64,
        }
    }

    /// The elements in row-major order, read in place where they lie so in host memory.
    pub(super) fn host_elements<T: Element>(&self) -> Result<Cow<'_, [T]>> {
        match host_slice(self.storage(), &self.layout) {
            Some(elements) => Ok(Cow::Borrowed(elements)),
            None => Ok(Cow::Owned(self.to_vec()?)),
        }
    }
}

fn keys_of<T: OrderKey>(x: &Tensor, nan: i64) -> Result<Vec<i64>> {
    let elements = x.host_elements::<T>()?;
    Ok(elements.iter().map(|v| v.order_key(nan)).collect())
}
