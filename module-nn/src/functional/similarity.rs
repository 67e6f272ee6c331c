use module_core::{Result, Shape, Tensor};

/// The cosine of the angle between vectors along `dim`: `x1·x2 / (max(‖x1‖, eps) · max(‖x2‖, eps))`.
///
/// # Shapes
///
/// Two shapes that broadcast, to the broadcast shape without `dim`.
///
/// # Errors
///
/// Shapes that do not broadcast, a dimension that is out of range, inputs that do not share one
/// floating-point dtype, different devices.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::cosine_similarity};
///
/// let (a, b) = (Tensor::from([[3.0_f64, 4.0]]), Tensor::from([[4.0_f64, -3.0], [6.0, 8.0]]));
/// assert_eq!(cosine_similarity(&a, &b, 1, 1e-8)?.to_vec::<f64>()?, [0.0, 1.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn cosine_similarity(x1: &Tensor, x2: &Tensor, dim: isize, eps: f64) -> Result<Tensor> {
    let shape = common_shape(x1, x2)?;
    let unit = |x: &Tensor| {
        let x = x.expand(&shape)?;
        let norm = x.norm_keepdim(2.0, [dim])?;
        // Raised if it is small, but with the gradient of the norm, as in PyTorch.
        let raised = (eps - norm.detach())?.clamp_min(0.0)?;
        x.div(&norm.add(&raised)?)
    };
    unit(x1)?.mul(&unit(x2)?)?.sum(dim)
}

/// The shape to which two broadcast.
fn common_shape(x1: &Tensor, x2: &Tensor) -> Result<Shape> {
    if x1.shape() == x2.shape() {
        return Ok(x1.shape().clone());
    }
    Ok(x1.detach().sub(x2.detach())?.shape().clone())
}

/// The `p`-norm of `x1 - x2 + eps` over the last dimension.
///
/// # Shapes
///
/// Two that broadcast, to the broadcast shape without the last dimension.
///
/// # Errors
///
/// Shapes that do not broadcast, inputs that do not share one floating-point dtype, different devices.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::pairwise_distance};
///
/// let (a, b) = (Tensor::from([[3.0_f64, 4.0]]), Tensor::from([[0.0_f64, 0.0], [3.0, 4.0]]));
/// assert_eq!(pairwise_distance(&a, &b, 2.0, 0.0)?.to_vec::<f64>()?, [5.0, 0.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pairwise_distance(x1: &Tensor, x2: &Tensor, p: f64, eps: f64) -> Result<Tensor> {
    x1.sub(x2)?.add(eps)?.norm(p, -1)
}

/// [`pairwise_distance`], with the last dimension kept at size 1.
///
/// # Errors
///
/// Those of [`pairwise_distance`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::pairwise_distance_keepdim};
///
/// let (a, b) = (Tensor::from([[3.0_f64, 4.0]]), Tensor::from([[0.0_f64, 0.0], [3.0, 4.0]]));
/// assert_eq!(pairwise_distance_keepdim(&a, &b, 2.0, 0.0)?.shape().to_string(), "[2, 1]");
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn pairwise_distance_keepdim(x1: &Tensor, x2: &Tensor, p: f64, eps: f64) -> Result<Tensor> {
    x1.sub(x2)?.add(eps)?.norm_keepdim(p, -1)
}
