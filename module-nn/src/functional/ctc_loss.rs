use module_core::{CtcLossOptions, Result, Tensor};

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
/// let lengths = (Tensor::from(2_i64), Tensor::from(1_i64));
/// let loss = ctc_loss(&x, &Tensor::from([1_i64]), &lengths.0, &lengths.1, &CTCLossConfig::new())?;
/// assert!((loss.item::<f64>()? + 0.75_f64.ln()).abs() < 1e-12);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn ctc_loss(
    log_probs: &Tensor,
    targets: &Tensor,
    input_lengths: &Tensor,
    target_lengths: &Tensor,
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
