use module_core::{CtcLossOptions, Lengths, Result, Tensor};

use crate::CTCLossConfig;

/// Connectionist temporal classification:
/// [`Tensor::ctc_loss`](module_core::Tensor::ctc_loss).
///
/// # Errors
///
/// As the method.
///
/// # Example
///
/// ```
/// use module_nn::{CTCLossConfig, DType, Device, Tensor, functional::ctc_loss};
///
/// let x = Tensor::full([2, 2], 0.5_f64.ln(), DType::F64, &Device::cpu())?;
/// let loss = ctc_loss(&x, &Tensor::from([1_i64]), [2], [1], &CTCLossConfig::new())?;
/// assert!((loss.item::<f64>()? + 0.75_f64.ln()).abs() < 1e-12);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn ctc_loss<'a, 'b>(
    log_probs: &Tensor,
    targets: &Tensor,
    input_lengths: impl Into<Lengths<'a>>,
    target_lengths: impl Into<Lengths<'b>>,
    options: &CTCLossConfig,
) -> Result<Tensor> {
    let &CTCLossConfig {
        blank,
        reduction,
        zero_infinity,
    } = options;
    let options = CtcLossOptions {
        blank,
        reduction,
        zero_infinity,
    };
    log_probs.ctc_loss(targets, input_lengths, target_lengths, options)
}
