//! The Huber function: squared near 0, linear farther away.

use super::fused::by_grad_kernel;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{DType, Error, Result};

/// `s x²/(2 δ)` where `|x| ≤ δ`, else `s (|x| - δ/2)`, elementwise, of a floating-point tensor, with `δ = delta` and
/// `s = slope`.
///
/// # Errors
///
/// A `delta` that is not above 0, a `slope` that is NaN, a dtype that is not floating-point.
///
/// # Source
///
/// Huber, "Robust Estimation of a Location Parameter", 1964; `torch.nn.functional.huber_loss` of a difference has
/// `slope = delta`, `smooth_l1_loss` has `slope = 1`.
///
/// # Example
///
/// ```
/// use module_tensor::{Tensor, fused::huber};
///
/// let x = Tensor::from([-0.5_f32, 2.0]);
/// assert_eq!(huber(&x, 1.0, 1.0)?.to_vec::<f32>()?, [0.125, 1.5]);
/// # Ok::<(), module_tensor::Error>(())
/// ```
pub fn huber(x: &Tensor, delta: f64, slope: f64) -> Result<Tensor> {
    if delta.is_nan() || delta <= 0.0 {
        return Err(Error::argument("huber", "delta", delta, "must be above 0"));
    }
    if slope.is_nan() {
        return Err(Error::argument("huber", "slope", slope, "must be a number"));
    }
    let huber = Huber {
        x: x.clone(),
        delta,
        slope,
    };
    let out = x.unary(UnaryOp::Huber {
        delta,
        slope,
        curvature: huber.curvature(),
    })?;
    Ok(out.record([x], |_| huber))
}

struct Huber {
    x: Tensor,
    delta: f64,
    slope: f64,
}

impl Huber {
    /// The second derivative near 0; also where both numbers are infinite. It is finite in the dtype, because it is multiplied by 0.
    fn curvature(&self) -> f64 {
        let greatest = match self.x.dtype() {
            DType::F64 => f64::MAX,
            _ => f64::from(f32::MAX),
        };
        match self.slope == self.delta {
            true => 1.0,
            false => (self.slope / self.delta).clamp(-greatest, greatest),
        }
    }
}

impl Function for Huber {
    fn name(&self) -> &'static str {
        "huber"
    }

    /// The derivative is `s x/δ`, at least `-s` and at most `s`.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let curvature = self.curvature();
        let x = match curvature == 1.0 {
            true => self.x.clone(),
            false => self.x.widened()?.mul(curvature)?,
        };
        let (low, high) = (-self.slope.abs(), self.slope.abs());
        by_grad_kernel(ctx, &x, UnaryOp::Clamp { low, high }, |x| {
            x.clamp(low, high)
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_infinite_delta_squares_everything() {
        let x = Tensor::from([-3.0_f64, 1e200, 0.0]).with_grad().unwrap();
        let y = huber(&x, f64::INFINITY, f64::INFINITY).unwrap();
        assert_eq!(y.to_vec::<f64>().unwrap(), [4.5, f64::INFINITY, 0.0]);
        y.backward_with(&x.ones_like().unwrap(), Default::default())
            .unwrap();
        assert_eq!(
            x.grad().unwrap().to_vec::<f64>().unwrap(),
            [-3.0, 1e200, 0.0]
        );
    }

    #[test]
    fn a_delta_that_rounds_to_zero_gives_no_nan() {
        for delta in [1e-40, 1e-50] {
            let x = Tensor::from([0.0_f32, -2.0]).with_grad().unwrap();
            let y = huber(&x, delta, 1.0).unwrap();
            assert_eq!(y.to_vec::<f32>().unwrap(), [0.0, 2.0]);
            y.sum(..).unwrap().backward().unwrap();
            assert_eq!(x.grad().unwrap().to_vec::<f32>().unwrap(), [0.0, -1.0]);
        }
    }

    #[test]
    fn numbers_without_a_function_are_refused() {
        let x = Tensor::from([1.0_f32]);
        let message = |delta, slope| huber(&x, delta, slope).unwrap_err().to_string();
        assert_eq!(message(0.0, 1.0), "huber: delta = 0: must be above 0");
        assert_eq!(
            message(f64::NAN, 1.0),
            "huber: delta = NaN: must be above 0"
        );
        assert_eq!(
            message(1.0, f64::NAN),
            "huber: slope = NaN: must be a number"
        );
        assert!(huber(&Tensor::from([1_i64]), 1.0, 1.0).is_err());
    }
}
