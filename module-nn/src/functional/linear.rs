use module_core::{ErrorKind, Result, Shape, Tensor};

/// `x·Wᵀ + b`.
///
/// # Shapes
///
/// `[…, in_features]`, a weight `[out_features, in_features]` and a bias `[out_features]`.
///
/// # Errors
///
/// Shapes that do not fit, different dtypes or devices.
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
    let &[_, in_features] = &**weight.shape() else {
        let (expected, got) = (
            "a weight with two dimensions".to_owned(),
            weight.shape().clone(),
        );
        return Err(ErrorKind::Shape {
            op: "linear",
            expected,
            got,
        }
        .into());
    };
    if input.rank() == 0 || input.size(-1)? != in_features {
        let expected = format!("an input whose last dimension is in_features = {in_features}");
        let got = input.shape().clone();
        return Err(ErrorKind::Shape {
            op: "linear",
            expected,
            got,
        }
        .into());
    }
    let output = input.matmul(&weight.t()?)?;
    match bias {
        Some(bias) => output.add(bias),
        None => Ok(output),
    }
}

/// Refuses a tensor of another shape.
pub(crate) fn check_shape(op: &'static str, tensor: &Tensor, shape: &Shape) -> Result<()> {
    if tensor.shape() == shape {
        return Ok(());
    }
    let (expected, got) = (format!("shape {shape}"), tensor.shape().clone());
    Err(ErrorKind::Shape { op, expected, got }.into())
}
