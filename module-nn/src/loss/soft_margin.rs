use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, soft_margin_loss};
use crate::loss::defaults;

/// `ln(1 + e^(-y·x))` with targets `y` of 1 and -1, without overflow.
///
/// # Shapes
///
/// A pair of an input and a target of the same shape. The output has no dimensions, or that shape with [`Reduction::None`].
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; an input that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = SoftMarginLoss::new();
/// let loss = criterion.call((Tensor::from([0.0_f32]), Tensor::from([1.0_f32])))?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct SoftMarginLoss {
    #[module(skip)]
    config: SoftMarginLossConfig,
}

config! {
    /// The arguments of [`SoftMarginLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = SoftMarginLossConfig::new().reduction(Reduction::Sum).build()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SoftMarginLossConfig => SoftMarginLoss {
        optional {
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for SoftMarginLossConfig {
    type Output = SoftMarginLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<SoftMarginLoss> {
        Ok(SoftMarginLoss::of(self))
    }
}

defaults!(SoftMarginLoss, SoftMarginLossConfig);

impl SoftMarginLoss {
    fn of(config: &SoftMarginLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> SoftMarginLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for SoftMarginLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        soft_margin_loss(&input, &target, self.config.reduction)
    }
}
