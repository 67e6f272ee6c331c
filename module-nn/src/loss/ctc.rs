use module_core::{Forward, Lengths, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, ctc_loss};
use crate::loss::defaults;

/// Connectionist temporal classification: the negative log-probability of a target, summed over all
/// alignments of its labels to time steps. In an alignment, repeated labels count as one label, and blanks
/// are dropped.
///
/// The gradient is exact for any input; PyTorch's is only valid in combination with a preceding `log_softmax`, where both
/// agree. A target without any alignment has the gradient 0.
///
/// Source: Graves et al., *Connectionist Temporal Classification: Labeling Unsegmented Sequence Data with
/// Recurrent Neural Networks* (2006).
///
/// # Shapes
///
/// Four arguments: log-probabilities `[time, batch, classes]`; targets as `I64`, `I32` or `U8`,
/// `[batch, labels]` with padding after each, or concatenated `[labels of all]`; the number of time steps
/// and the number of labels of each, tensors `[batch]` or lists. Without the batch: `[time, classes]`,
/// `[labels]` and one length. The output has no dimensions, or `[batch]` with [`Reduction::None`].
///
/// # Errors
///
/// Other shapes, or empty ones; a label that is out of range or the blank; lengths beyond the tensors.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// // Two time steps, a blank and one label, equally likely: three of four paths give the label.
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
    /// use module_nn::Reduction;
    /// use module_nn::prelude::*;
    ///
    /// let criterion = CTCLossConfig::new().zero_infinity(true).build()?;
    /// assert!(criterion.config().zero_infinity);
    /// // The blank is the last class, and every path is one sample of a sum.
    /// let x = Tensor::full([2, 1, 2], 0.5_f64.ln(), DType::F64)?;
    /// let criterion = CTCLossConfig::new().blank(1).reduction(Reduction::Sum).build()?;
    /// let loss = criterion.call((x, Tensor::from([[0_i64]]), [2], [1]))?;
    /// assert!((loss.item::<f64>()? + 0.75_f64.ln()).abs() < 1e-12);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CTCLossConfig => CTCLoss {
        optional {
            /// The class of the blank label.
            blank: usize = 0_usize,
            /// How the losses of the sequences are reduced; the mean divides each loss by the length of its target.
            reduction: Reduction = Reduction::Mean,
            /// Whether a target without any alignment has the loss 0 rather than infinity.
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
