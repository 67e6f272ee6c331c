use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, l1_loss};
use crate::loss::defaults;

/// The mean absolute error: `|x - y|`.
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
/// let criterion = L1Loss::new();
/// let loss = criterion.call((Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f32, 4.0])))?;
/// assert_eq!(loss.item::<f32>()?, 1.0);
/// assert_eq!(criterion.config().reduction, Reduction::Mean);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct L1Loss {
    #[module(skip)]
    config: L1LossConfig,
}

config! {
    /// The arguments of [`L1Loss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = L1LossConfig::new().reduction(Reduction::Sum).build()?;
    /// # Ok::<(), Error>(())
    /// ```
    pub struct L1LossConfig => L1Loss {
        optional {
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for L1LossConfig {
    type Output = L1Loss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<L1Loss> {
        Ok(L1Loss::of(self))
    }
}

defaults!(L1Loss, L1LossConfig);

impl L1Loss {
    fn of(config: &L1LossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> L1LossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for L1Loss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        l1_loss(&input, &target, self.config.reduction)
    }
}
