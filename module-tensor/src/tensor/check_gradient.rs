use super::Tensor;
use crate::{DType, DTypeError, Result, Shape, ShapeError};

/// Checks that a gradient has the shape and dtype of its tensor: one of another shape could broadcast to a wrong result.
///
/// # Errors
///
/// A different shape or dtype, reported as an error of `op`.
pub fn check_gradient(op: &'static str, shape: &Shape, dtype: DType, grad: &Tensor) -> Result<()> {
    if dtype != grad.dtype() {
        let (lhs, rhs) = (dtype, grad.dtype());
        return Err(DTypeError::Mismatch { op, lhs, rhs }.into());
    }
    if shape != grad.shape() {
        let (lhs, rhs) = (shape.clone(), grad.shape().clone());
        let rule = "the gradient must have the shape of the input".to_owned();
        return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
    }
    Ok(())
}
