use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_above_zero, config};
use crate::functional::{Reduction, triplet_margin_loss};
use crate::loss::defaults;

/// Pulls an anchor closer to a positive than to a negative by a margin: `max(0, d(a, p) - d(a, n) + margin)` with the
/// distance `‖x - y + eps‖ₚ`.
///
/// Source: Balntas et al., *Learning shallow convolutional feature descriptors with triplet losses* (2016).
///
/// # Shapes
///
/// Three tensors of the same shape `[…, features]`: anchors, positives, negatives. The output has no dimensions, or that
/// shape without the last one with [`Reduction::None`].
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
/// let criterion = TripletMarginLoss::new();
/// let vector = |x: f32| Tensor::from([[x, 0.0]]);
/// let loss = criterion.call((vector(0.0), vector(1.0), vector(9.0)))?;
/// assert_eq!(loss.item::<f32>()?, 0.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct TripletMarginLoss {
    #[module(skip)]
    config: TripletMarginLossConfig,
}

config! {
    /// The arguments of [`TripletMarginLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = TripletMarginLossConfig::new().margin(0.5).swap(true).build()?;
    /// assert!(criterion.config().swap);
    /// // The negative is nearer to the positive than to the anchor: 1 - 0.25 + 0.5
    /// let config = TripletMarginLossConfig::new().margin(0.5).p(1.0).eps(0.0).swap(true);
    /// let criterion = config.reduction(Reduction::None).build()?;
    /// let vector = |x: f32| Tensor::from([[x, 0.0]]);
    /// let losses = criterion.call((vector(0.0), vector(1.0), vector(1.25)))?;
    /// assert_eq!(losses.to_vec::<f32>()?, [1.25]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TripletMarginLossConfig => TripletMarginLoss {
        optional {
            /// The margin by which the positive should be closer.
            margin: f64 = 1.0,
            /// The order of the norm.
            p: f64 = 2.0,
            /// Added to the differences, so that no gradient is infinite.
            eps: f64 = 1e-6,
            /// Whether the distance of the negative may be measured from the positive, if that is smaller.
            swap: bool = false,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for TripletMarginLossConfig {
    type Output = TripletMarginLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// A margin that is not above 0.
    fn build(&self) -> Result<TripletMarginLoss> {
        const NAME: &str = "TripletMarginLoss";
        check_above_zero(NAME, "margin", self.margin)?;
        Ok(TripletMarginLoss::of(self))
    }
}

defaults!(TripletMarginLoss, TripletMarginLossConfig);

impl TripletMarginLoss {
    fn of(config: &TripletMarginLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> TripletMarginLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor, Tensor)> for TripletMarginLoss {
    type Output = Tensor;

    fn forward(&self, (anchor, positive, negative): (Tensor, Tensor, Tensor)) -> Result<Tensor> {
        triplet_margin_loss(&anchor, &positive, &negative, &self.config)
    }
}
