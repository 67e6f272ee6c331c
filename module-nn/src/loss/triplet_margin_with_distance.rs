use module_core::{Call, Forward, Module, Result, Tensor};

use crate::PairwiseDistance;
use crate::config::{Build, check_above_zero, config};
use crate::functional::{Reduction, triplet_margin_with_distance_loss};

/// [`TripletMarginLoss`](crate::TripletMarginLoss) with a custom distance: pulls an anchor closer to a positive than to a
/// negative by a margin: `max(0, d(a, p) - d(a, n) + margin)`.
///
/// The distance is a module, from a pair of tensors to a tensor, whose parameters are trained too.
///
/// # Shapes
///
/// Three tensors of the same shape: anchors, positives, negatives. The output has no dimensions, or the shape of the
/// distances with [`Reduction::None`].
///
/// # State dict
///
/// That of the distance under `distance_function`.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; those of the distance.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// #[derive(Module)]
/// struct Greatest {
///     marker: Marker,
/// }
///
/// impl Forward<(Tensor, Tensor)> for Greatest {
///     type Output = Tensor;
///
///     fn forward(&self, (a, b): (Tensor, Tensor)) -> Result<Tensor> {
///         a.sub(&b)?.abs()?.amax(-1)
///     }
/// }
///
/// let config = TripletMarginWithDistanceLossConfig::new();
/// let criterion = config.with_distance(Greatest { marker: Marker::new() })?;
/// let vector = |x: f32| Tensor::from([[x, 0.0]]);
/// let loss = criterion.call((vector(0.0), vector(2.0), vector(2.5)))?;
/// assert_eq!(loss.item::<f32>()?, 0.5);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct TripletMarginWithDistanceLoss<D: Module = PairwiseDistance> {
    distance_function: D,
    #[module(skip)]
    config: TripletMarginWithDistanceLossConfig,
}

config! {
    /// The arguments of [`TripletMarginWithDistanceLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = TripletMarginWithDistanceLossConfig::new().swap(true).build()?;
    /// let criterion: TripletMarginWithDistanceLoss = criterion;
    /// assert!(criterion.config().swap);
    /// // The negative is nearer to the positive than to the anchor: 1 - 0.25 + 0.5
    /// let config = TripletMarginWithDistanceLossConfig::new().margin(0.5).swap(true);
    /// let criterion = config.reduction(Reduction::Sum).build()?;
    /// let vector = |x: f32| Tensor::from([[x, 0.0]]);
    /// let loss = criterion.call((vector(0.0), vector(1.0), vector(1.25)))?;
    /// assert!((loss.item::<f32>()? - 1.25).abs() < 1e-5);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct TripletMarginWithDistanceLossConfig => TripletMarginWithDistanceLoss {
        optional {
            /// The margin by which the positive should be closer.
            margin: f64 = 1.0,
            /// Whether the distance of the negative may be measured from the positive, if that is smaller.
            swap: bool = false,
            /// How the losses of the triplets are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for TripletMarginWithDistanceLossConfig {
    type Output = TripletMarginWithDistanceLoss;

    /// The loss with [`PairwiseDistance`].
    ///
    /// # Errors
    ///
    /// A margin that is not above 0.
    fn build(&self) -> Result<TripletMarginWithDistanceLoss> {
        self.with_distance(PairwiseDistance::new())
    }
}

impl TripletMarginWithDistanceLossConfig {
    /// The loss with another distance.
    ///
    /// # Errors
    ///
    /// A margin that is not above 0.
    pub fn with_distance<D: Module>(
        &self,
        distance_function: D,
    ) -> Result<TripletMarginWithDistanceLoss<D>> {
        check_above_zero("TripletMarginWithDistanceLoss", "margin", self.margin)?;
        Ok(TripletMarginWithDistanceLoss {
            distance_function,
            config: self.clone(),
        })
    }
}

impl<D: Module> TripletMarginWithDistanceLoss<D> {
    /// The arguments that it was built from, without the distance.
    pub fn config(&self) -> TripletMarginWithDistanceLossConfig {
        self.config.clone()
    }
}

impl<D> Forward<(Tensor, Tensor, Tensor)> for TripletMarginWithDistanceLoss<D>
where
    D: Forward<(Tensor, Tensor), Output = Tensor>,
{
    type Output = Tensor;

    fn forward(&self, (anchor, positive, negative): (Tensor, Tensor, Tensor)) -> Result<Tensor> {
        let distance = |a, b| self.distance_function.call((a, b));
        triplet_margin_with_distance_loss(&anchor, &positive, &negative, distance, &self.config)
    }
}
