use module_core::{Forward, Lengths, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, ctc_loss};
use crate::loss::defaults;

/// Connectionist temporal classification: the negative logarithm of the probability of a text, summed
/// over all paths of labels that spell it, whichever moments its letters fall on. Repeated labels are one
/// letter, and blanks are dropped.
///
/// The gradient is exact for any input; PyTorch's holds together with that of `log_softmax` before it,
/// where both agree. A target that no path can spell has the gradient 0.
///
/// Source: Graves et al., *Connectionist Temporal Classification: Labeling Unsegmented Sequence Data with
/// Recurrent Neural Networks* (2006).
///
/// # Shapes
///
/// Four arguments: logarithms of probabilities `[time, batch, labels]`; targets as `I64`, `I32` or `U8`,
/// `[batch, letters]` with padding behind each, or one after the other `[letters of all]`; how many moments
/// and how many letters of each count, tensors `[batch]` or lists. Without the batch: `[time, labels]`,
/// `[letters]` and one length. The output has no dimensions, or `[batch]` with [`Reduction::None`].
///
/// # Errors
///
/// Other shapes, also without an element; a letter that is out of range or the blank; lengths beyond the tensors.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// // Two moments, a blank and one letter, each as likely: three of four paths spell the letter.
/// let x = Tensor::full([2, 1, 2], 0.5_f64.ln(), DType::F64)?;
/// let loss = CTCLoss::new().call((x, Tensor::from([[1_i64]]), [2], [1]))?;
/// assert!((loss.item::<f64>()? + 0.75_f64.ln()).abs() < 1e-12);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct CTCLoss {
    #[module(skip)]
    config: CTCLossConfig,
}

config! {
    /// The arguments of [`CTCLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = CTCLossConfig::new().zero_infinity(true).build()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CTCLossConfig => CTCLoss {
        optional {
            /// The label that stands for no letter.
            blank: usize = 0_usize,
            /// How the losses of the sequences are joined; the mean is that of the losses divided by
            /// the lengths of their targets.
            reduction: Reduction = Reduction::Mean,
            /// Whether a target that no path can spell has the loss 0 rather than infinity.
            zero_infinity: bool = false,
        }
    }
}

impl Build for CTCLossConfig {
    type Output = CTCLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<CTCLoss> {
        Ok(CTCLoss::of(self))
    }
}

defaults!(CTCLoss, CTCLossConfig);

impl CTCLoss {
    fn of(config: &CTCLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> CTCLossConfig {
        self.config.clone()
    }
}

impl<A, B> Forward<(Tensor, Tensor, A, B)> for CTCLoss
where
    A: Into<Lengths<'static>>,
    B: Into<Lengths<'static>>,
{
    type Output = Tensor;

    fn forward(
        &self,
        (log_probs, targets, input_lengths, target_lengths): (Tensor, Tensor, A, B),
    ) -> Result<Tensor> {
        let (input_lengths, target_lengths) = (input_lengths.into(), target_lengths.into());
        ctc_loss(
            &log_probs,
            &targets,
            input_lengths,
            target_lengths,
            &self.config,
        )
    }
}
