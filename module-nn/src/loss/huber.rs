use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_above_zero, config};
use crate::functional::{Reduction, huber_loss};
use crate::loss::defaults;

/// Squared up to a distance of `delta`, absolute above: with `z = |x - y|` it is `z² / 2` if `z ≤ delta` and
/// `delta (z - delta / 2)` otherwise.
///
/// Source: Huber, *Robust Estimation of a Location Parameter* (1964).
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
/// let criterion: HuberLoss = HuberLossConfig::new().delta(0.5).build()?;
/// let loss = criterion.call((Tensor::from([2.0_f32]), Tensor::from([4.0_f32])))?;
/// assert_eq!(loss.item::<f32>()?, 0.875);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct HuberLoss {
    #[module(skip)]
    config: HuberLossConfig,
}

config! {
    /// The arguments of [`HuberLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = HuberLossConfig::new().delta(0.5).build()?;
    /// assert_eq!(criterion.config().delta, 0.5);
    /// let criterion = HuberLossConfig::new().delta(0.5).reduction(Reduction::None).build()?;
    /// let losses = criterion.call((Tensor::from([0.25_f32, 2.0]), Tensor::from([0.0_f32, 0.0])))?;
    /// assert_eq!(losses.to_vec::<f32>()?, [0.03125, 0.875]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct HuberLossConfig => HuberLoss {
        optional {
            /// The distance up to which the loss is quadratic.
            delta: f64 = 1.0,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for HuberLossConfig {
    type Output = HuberLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// A `delta` that is not above 0.
    fn build(&self) -> Result<HuberLoss> {
        const NAME: &str = "HuberLoss";
        check_above_zero(NAME, "delta", self.delta)?;
        Ok(HuberLoss::of(self))
    }
}

defaults!(HuberLoss, HuberLossConfig);

impl HuberLoss {
    fn of(config: &HuberLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> HuberLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for HuberLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        huber_loss(&input, &target, self.config.reduction, self.config.delta)
    }
}
