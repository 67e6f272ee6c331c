use super::Tensor;
use crate::{DType, DTypeError, Result, Shape, ShapeError};

/// Checks that a gradient has the shape and dtype of its tensor: one of another shape could broadcast to a wrong result.
///
/// # Errors
///
/// A different shape or dtype, reported as an error of `op`.
///
/// # Example
///
/// ```
/// use module_tensor::{DType, Shape, Tensor};
///
/// let grad = Tensor::from([1.0_f32, 1.0]);
/// let checked = module_tensor::autograd::check_gradient("cube", &Shape::from([3]), DType::F32, &grad);
/// assert!(checked.is_err());
/// ```
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
