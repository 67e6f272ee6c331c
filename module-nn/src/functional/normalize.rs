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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_argument() {
        let x = Tensor::from([[3.0_f64, 4.0]]);
        let integers = Tensor::from([[3_i64, 4]]);
        for (result, words) in [
            (normalize(&x, f64::NAN, 1, 1e-12), "p = NaN"),
            (normalize(&x, 2.0, 5, 1e-12), "dimension 5 is out of range"),
            (normalize(&x, 2.0, [1, -1], 1e-12), "dim = -1: occurs twice"),
            (normalize(&integers, 2.0, 1, 1e-12), "int64"),
        ] {
            let error = result.unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
