use module_core::{Buffer, Forward, Maybe, Module, Result, Tensor};

use crate::Weights;
use crate::config::{Build, config};
use crate::functional::{Reduction, multilabel_soft_margin_loss};
use crate::loss::{buffer, defaults, weights};

/// The mean over the classes of the cross-entropies of logits with targets between 0 and 1:
/// `-w (y · ln σ(x) + (1 - y) · ln(1 - σ(x)))`.
///
/// # Shapes
///
/// A pair of an input and a target of the same shape `[…, classes]`. The output has no dimensions, or that shape without
/// the classes with [`Reduction::None`].
///
/// # State dict
///
/// `weight`, a buffer, if there is one.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes, or one that is not floating-point; a weight that
/// does not broadcast to the losses.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = MultiLabelSoftMarginLoss::new();
/// let loss = criterion.call((Tensor::from([[0.0_f32, 0.0]]), Tensor::from([[1.0_f32, 0.0]])))?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct MultiLabelSoftMarginLoss {
    weight: Maybe<Buffer>,
    #[module(skip)]
    config: MultiLabelSoftMarginLossConfig,
}

config! {
    /// The arguments of [`MultiLabelSoftMarginLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = MultiLabelSoftMarginLossConfig::new().reduction(Reduction::Sum).build()?;
    /// assert_eq!(criterion.config().reduction, Reduction::Sum);
    /// // Two rows of ln 2, of which the second class counts three times: 2·(1 + 3)/2·ln 2
    /// let config = MultiLabelSoftMarginLossConfig::new().weight(Tensor::from([1.0_f64, 3.0]));
    /// let criterion = config.reduction(Reduction::Sum).build()?;
    /// let loss = criterion.call((Tensor::zeros([2, 2], DType::F64)?, Tensor::from([[1.0_f64, 0.0], [0.0, 1.0]])))?;
    /// assert!((loss.item::<f64>()? - 4.0 * 2.0_f64.ln()).abs() < 1e-12);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MultiLabelSoftMarginLossConfig => MultiLabelSoftMarginLoss {
        optional {
            /// A weight for each class, `[classes]`.
            weight: Option<Weights> = None,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for MultiLabelSoftMarginLossConfig {
    type Output = MultiLabelSoftMarginLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<MultiLabelSoftMarginLoss> {
        Ok(MultiLabelSoftMarginLoss::of(self))
    }
}

defaults!(MultiLabelSoftMarginLoss, MultiLabelSoftMarginLossConfig);

impl MultiLabelSoftMarginLoss {
    fn of(config: &MultiLabelSoftMarginLossConfig) -> Self {
        Self {
            weight: buffer(config.weight.as_ref()),
            // The buffers hold the weights.
            config: MultiLabelSoftMarginLossConfig {
                weight: None,
                ..config.clone()
            },
        }
    }

    /// The arguments that it was built from, with the present weights.
    pub fn config(&self) -> MultiLabelSoftMarginLossConfig {
        MultiLabelSoftMarginLossConfig {
            weight: weights(&self.weight),
            ..self.config.clone()
        }
    }
}

impl Forward<(Tensor, Tensor)> for MultiLabelSoftMarginLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        let weight = self.weight.get().map(Buffer::tensor);
        multilabel_soft_margin_loss(&input, &target, weight.as_ref(), self.config.reduction)
    }
}
