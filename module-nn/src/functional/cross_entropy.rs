pub use module_core::{CrossEntropyOptions, NllLossOptions, Reduction};
use module_core::{Result, Tensor};

/// The cross-entropy of logits with classes or probabilities:
/// [`Tensor::cross_entropy`](module_core::Tensor::cross_entropy).
///
/// # Errors
///
/// Those of the method.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::cross_entropy};
///
/// let loss = cross_entropy(&Tensor::from([[0.0_f32, 0.0]]), &Tensor::from([1_i64]), Default::default())?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn cross_entropy(
    input: &Tensor,
    target: &Tensor,
    options: CrossEntropyOptions<'_>,
) -> Result<Tensor> {
    input.cross_entropy(target, options)
}

/// The negative log-likelihood of classes under logarithms of probabilities:
/// [`Tensor::nll_loss`](module_core::Tensor::nll_loss).
///
/// # Errors
///
/// Those of the method.
///
/// # Example
///
/// ```
/// use module_nn::{Tensor, functional::nll_loss};
///
/// let loss = nll_loss(&Tensor::from([[-1.0_f32, -2.0]]), &Tensor::from([1_i64]), Default::default())?;
/// assert_eq!(loss.item::<f32>()?, 2.0);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn nll_loss(input: &Tensor, target: &Tensor, options: NllLossOptions<'_>) -> Result<Tensor> {
    input.nll_loss(target, options)
}
