use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, mse_loss};
use crate::loss::defaults;

/// The mean squared error: `(x - y)²`.
///
/// # Shapes
///
/// A pair of an input and a target of the same shape. The output has no dimensions, or that shape with [`Reduction::None`].
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = MSELoss::new();
/// let loss = criterion.call((Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f32, 4.0])))?;
/// assert_eq!(loss.item::<f32>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct MSELoss {
    #[module(skip)]
    config: MSELossConfig,
}

config! {
    /// The arguments of [`MSELoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = MSELossConfig::new().reduction(Reduction::Sum).build()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MSELossConfig => MSELoss {
        optional {
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for MSELossConfig {
    type Output = MSELoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<MSELoss> {
        Ok(MSELoss::of(self))
    }
}

defaults!(MSELoss, MSELossConfig);

impl MSELoss {
    fn of(config: &MSELossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> MSELossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for MSELoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        mse_loss(&input, &target, self.config.reduction)
    }
}
