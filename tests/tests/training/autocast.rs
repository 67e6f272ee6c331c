//! Mixed precision: operations, layers and whole trainings with the dtypes and numbers of PyTorch's autocast.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod layers;
mod ops;
mod runs;
mod scaler;
mod scopes;

use module_nn::prelude::*;
use module_tests::golden::{Tolerance, compare};
use serde_json::Value;

fn dtype(name: &Value) -> DType {
    match name.as_str().expect("a dtype") {
        "bf16" => DType::BF16,
        "f16" => DType::F16,
        "f64" => DType::F64,
        "f32" => DType::F32,
        other => panic!("an unknown dtype: {other}"),
    }
}

/// Compares results that were computed in `lower`, whatever their dtype is now.
fn compare_rounded(actual: &Tensor, expected: &Tensor, lower: DType) -> Result<(), String> {
    if actual.dtype() != expected.dtype() {
        return Err(format!(
            "{} instead of {}",
            actual.dtype(),
            expected.dtype()
        ));
    }
    let rounded = |x: &Tensor| x.to_dtype(lower).unwrap();
    compare(&rounded(actual), &rounded(expected), Tolerance::CONTRACTION)
}
