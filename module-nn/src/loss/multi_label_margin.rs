use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, multilabel_margin_loss};
use crate::loss::defaults;

/// The correct classes, of which there may be several, against all others: `Σ max(0, 1 - (x_y - xᵢ)) / classes` over the
/// correct classes `y` and all other `i`.
///
/// # Shapes
///
/// A pair of an input `[batch, classes]` or `[classes]` and a target of the same shape: the correct classes as `I64`, of
/// which those before the first -1 count. The output has no dimensions, or `[batch]` with [`Reduction::None`].
///
/// # Errors
///
/// Other shapes, a class that is out of range, an input that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = MultiLabelMarginLoss::new();
/// let (x, y) = (Tensor::from([0.25_f32, 0.5]), Tensor::from([1_i64, -1]));
/// assert_eq!(criterion.call((x, y))?.item::<f32>()?, 0.375);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct MultiLabelMarginLoss {
    #[module(skip)]
    config: MultiLabelMarginLossConfig,
}

config! {
    /// The arguments of [`MultiLabelMarginLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = MultiLabelMarginLossConfig::new().reduction(Reduction::Sum).build()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MultiLabelMarginLossConfig => MultiLabelMarginLoss {
        optional {
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for MultiLabelMarginLossConfig {
    type Output = MultiLabelMarginLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<MultiLabelMarginLoss> {
        Ok(MultiLabelMarginLoss::of(self))
    }
}

defaults!(MultiLabelMarginLoss, MultiLabelMarginLossConfig);

impl MultiLabelMarginLoss {
    fn of(config: &MultiLabelMarginLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> MultiLabelMarginLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for MultiLabelMarginLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        multilabel_margin_loss(&input, &target, self.config.reduction)
    }
}
