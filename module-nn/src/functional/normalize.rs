use module_core::{Dims, Result, Tensor};

/// Vectors over `dim` divided by their length: `x / max(‖x‖ₚ, eps)`, PyTorch's `F.normalize`, whose
/// defaults are a `p` of 2, dimension 1 and 1e-12.
///
/// # Errors
///
/// Those of [`Tensor::norm`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::normalize};
///
/// let x = Tensor::from([[3.0_f64, 4.0], [0.0, 0.0]]);
/// assert_eq!(normalize(&x, 2.0, 1, 1e-12)?.to_vec::<f64>()?, [0.6, 0.8, 0.0, 0.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn normalize(input: &Tensor, p: f64, dim: impl Into<Dims>, eps: f64) -> Result<Tensor> {
    input.div(&input.norm_keepdim(p, dim)?.clamp_min(eps)?)
}
