use module_core::{Error, Result, Tensor};

/// A differentiable draw of one class from unnormalized log-probabilities, PyTorch's `F.gumbel_softmax`, whose defaults are
/// 1 and -1:
///
/// ```text
/// softmax((logits + g) / τ)     g = -ln e, e drawn from the exponential distribution
/// ```
///
/// The draw is PyTorch's, bit for bit, from the default generator.
///
/// Source: Jang, Gu, Poole, *Categorical Reparameterization with Gumbel-Softmax* (2017).
///
/// # Errors
///
/// A dtype that is not floating-point, a dimension that is out of range, a `tau` that is 0 or NaN.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::gumbel_softmax};
///
/// let logits = Tensor::from([[0.0_f32, 1.0, 0.0]]);
/// let total = gumbel_softmax(&logits, 1.0, -1)?.sum(-1)?.item::<f32>()?;
/// assert!((total - 1.0).abs() < 1e-6);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn gumbel_softmax(logits: &Tensor, tau: f64, dim: isize) -> Result<Tensor> {
    sample(logits, tau, false, dim)
}

/// [`gumbel_softmax`] as a one-hot vector, with the gradient of the soft one: `hard=True`.
///
/// # Errors
///
/// Those of [`gumbel_softmax`].
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::gumbel_softmax_hard};
///
/// let logits = Tensor::from([[0.0_f32, 100.0, 0.0]]);
/// assert_eq!(gumbel_softmax_hard(&logits, 1.0, -1)?.to_vec::<f32>()?, [0.0, 1.0, 0.0]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn gumbel_softmax_hard(logits: &Tensor, tau: f64, dim: isize) -> Result<Tensor> {
    sample(logits, tau, true, dim)
}

fn sample(logits: &Tensor, tau: f64, hard: bool, dim: isize) -> Result<Tensor> {
    const NAME: &str = "gumbel_softmax";
    super::loss::check_floating(NAME, logits)?;
    if tau == 0.0 || tau.is_nan() {
        return Err(Error::argument(NAME, "tau", tau, "must not be 0"));
    }
    let drawn = Tensor::exponential(logits.shape(), 1.0, logits.dtype())?;
    let drawn = drawn.to_device(&logits.device())?;
    let soft = logits.sub(&drawn.log()?)?.div(tau)?.softmax(dim)?;
    if !hard {
        return Ok(soft);
    }
    let place = soft.detach().argmax_keepdim(dim)?;
    let chosen = soft.detach().zeros_like()?.scatter(dim, &place, 1.0)?;
    // In this order, so that its elements equal PyTorch's, which may be one bit off 1.
    chosen.sub(soft.detach())?.add(&soft)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_argument() {
        let logits = Tensor::from([[0.0_f32, 1.0]]);
        let integers = Tensor::from([[0_i64, 1]]);
        for sampled in [gumbel_softmax, gumbel_softmax_hard] {
            for (result, words) in [
                (sampled(&logits, 0.0, -1), "gumbel_softmax: tau = 0"),
                (sampled(&logits, f64::NAN, -1), "gumbel_softmax: tau = NaN"),
                (sampled(&integers, 1.0, -1), "not available for int64"),
                (sampled(&logits, 1.0, 3), "dimension 3 is out of range"),
            ] {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(words), "{error}");
            }
        }
    }
}
