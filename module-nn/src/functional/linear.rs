use module_core::{Result, Shape, Tensor};

/// `x·Wᵀ + b`.
///
/// # Shapes
///
/// `[…, in_features]`, a weight `[out_features, in_features]` and a bias `[out_features]`, or a weight
/// `[in_features]` and a bias `[]`.
///
/// # Errors
///
/// Incompatible shapes, different dtypes or devices.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::linear};
///
/// let weight = Tensor::from([[1.0_f32, 2.0]]);
/// let y = linear(&Tensor::from([3.0_f32, 4.0]), &weight, None)?;
/// assert_eq!(y.to_vec::<f32>()?, [11.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn linear(input: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    input.linear(weight, bias)
}

/// Refuses a tensor of another shape.
pub(crate) fn check_shape(op: &'static str, tensor: &Tensor, shape: &Shape) -> Result<()> {
    if tensor.shape() == shape {
        return Ok(());
    }
    Err(tensor.shape().error(op, format!("shape {shape}")))
}
