//! Numbers of the values of a tensor.

use crate::{DType, Tensor};

/// Of the values of a floating-point tensor; those of others are not read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stats {
    pub(super) count: usize,
    /// How many are NaN.
    pub(super) nan: usize,
    /// How many are infinite.
    pub(super) infinite: usize,
    /// The largest absolute value of those that are finite.
    pub(super) max_abs: f64,
    /// The root of the mean of the squares of those that are finite.
    pub(super) rms: f64,
}

impl Stats {
    pub(super) fn of(tensor: &Tensor) -> Self {
        let values = values(tensor).unwrap_or_default();
        let mut stats = Self {
            count: values.len(),
            ..Self::default()
        };
        // In blocks whose sums are f32, which vector instructions add.
        let mut squares = 0.0;
        for block in values.chunks(256) {
            let (mut sum, mut max) = (0.0_f32, 0.0_f32);
            for &value in block {
                sum += value * value;
                max = max.max(value.abs());
            }
            if sum.is_finite() {
                squares += f64::from(sum);
                stats.max_abs = stats.max_abs.max(max.into());
                continue;
            }
            for &value in block {
                match value {
                    _ if value.is_nan() => stats.nan += 1,
                    _ if value.is_infinite() => stats.infinite += 1,
                    _ => {
                        squares += f64::from(value).powi(2);
                        stats.max_abs = stats.max_abs.max(value.abs().into());
                    }
                }
            }
        }
        let finite = stats.count - stats.nan - stats.infinite;
        stats.rms = (squares / finite.max(1) as f64).sqrt();
        stats
    }

    /// Whether every value is finite.
    pub(super) fn is_finite(&self) -> bool {
        self.nan + self.infinite == 0
    }

    /// The root of the sum of the squares.
    pub(super) fn norm(&self) -> f64 {
        self.rms * (self.count as f64).sqrt()
    }
}

/// The values in row-major order as `F32`; `None` of a tensor that holds none, or none that is a real
/// floating-point number.
pub(super) fn values(tensor: &Tensor) -> Option<Vec<f32>> {
    let is_real = tensor.dtype().is_floating_point() && tensor.has_values() && !tensor.is_packed();
    match tensor.dtype() {
        DType::F32 if is_real => tensor.to_vec::<f32>().ok(),
        _ if is_real => {
            crate::no_grad(|| tensor.detach().to_dtype(DType::F32)?.to_vec::<f32>()).ok()
        }
        _ => None,
    }
}

/// Whether two tensors hold the same values.
pub(super) fn same_values(a: &Tensor, b: &Tensor) -> bool {
    if a.shares_memory_with(b) {
        return true;
    }
    match (a.as_le_bytes(), b.as_le_bytes()) {
        (Some(a), Some(b)) => a == b,
        _ => values(a) == values(b),
    }
}

/// The root of the sum of the squares of what was added to a tensor; `None` where it has no values, or others.
pub(super) fn change(before: &Tensor, after: &Tensor) -> Option<f64> {
    let (before, after) = (values(before)?, values(after)?);
    let squares = before
        .iter()
        .zip(&after)
        .map(|(a, b)| (f64::from(*b) - f64::from(*a)).powi(2));
    Some(squares.sum::<f64>().sqrt())
}
