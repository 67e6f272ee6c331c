use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, margin_ranking_loss};
use crate::loss::defaults;

/// Orders pairs: `max(0, -y (x₁ - x₂) + margin)`, where a target `y` of 1 means that the first should be greater, and -1
/// the second.
///
/// # Shapes
///
/// Three tensors of the same shape: two inputs and a target. The output has no dimensions, or that shape with
/// [`Reduction::None`].
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes of the inputs, or one that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = MarginRankingLoss::new();
/// let (a, b) = (Tensor::from([1.0_f32]), Tensor::from([3.0_f32]));
/// assert_eq!(criterion.call((a, b, Tensor::from([1_i64])))?.item::<f32>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct MarginRankingLoss {
    #[module(skip)]
    config: MarginRankingLossConfig,
}

config! {
    /// The arguments of [`MarginRankingLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = MarginRankingLossConfig::new().margin(0.5).build()?;
    /// assert_eq!(criterion.config().margin, 0.5);
    /// let criterion = MarginRankingLossConfig::new().margin(0.5).reduction(Reduction::None).build()?;
    /// let (a, b) = (Tensor::from([1.0_f32, 1.0]), Tensor::from([0.75_f32, 3.0]));
    /// assert_eq!(criterion.call((a, b, Tensor::from([1_i64, -1])))?.to_vec::<f32>()?, [0.25, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MarginRankingLossConfig => MarginRankingLoss {
        optional {
            /// The difference by which one should be greater.
            margin: f64 = 0.0,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for MarginRankingLossConfig {
    type Output = MarginRankingLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<MarginRankingLoss> {
        Ok(MarginRankingLoss::of(self))
    }
}

defaults!(MarginRankingLoss, MarginRankingLossConfig);

impl MarginRankingLoss {
    fn of(config: &MarginRankingLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> MarginRankingLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for MarginRankingLoss {
    type Output = Tensor;

    fn forward(&self, (input1, input2, target): (Tensor, Tensor, Tensor)) -> Result<Tensor> {
        margin_ranking_loss(
            &input1,
            &input2,
            &target,
            self.config.margin,
            self.config.reduction,
        )
    }
}
