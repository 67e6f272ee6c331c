use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};
use crate::functional::{Reduction, hinge_embedding_loss};
use crate::loss::defaults;

/// For a distance `x`: the distance itself if the target is 1, and `max(0, margin - x)` if it is -1.
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
/// let criterion = HingeEmbeddingLoss::new();
/// let loss = criterion.call((Tensor::from([0.25_f32]), Tensor::from([-1_i64])))?;
/// assert_eq!(loss.item::<f32>()?, 0.75);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct HingeEmbeddingLoss {
    #[module(skip)]
    config: HingeEmbeddingLossConfig,
}

config! {
    /// The arguments of [`HingeEmbeddingLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = HingeEmbeddingLossConfig::new().margin(0.5).build()?;
    /// assert_eq!(criterion.config().margin, 0.5);
    /// let criterion = HingeEmbeddingLossConfig::new().margin(0.5).reduction(Reduction::None).build()?;
    /// let (distances, target) = (Tensor::from([0.25_f32, 0.25, 2.0]), Tensor::from([1.0_f32, -1.0, -1.0]));
    /// assert_eq!(criterion.call((distances, target))?.to_vec::<f32>()?, [0.25, 0.25, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct HingeEmbeddingLossConfig => HingeEmbeddingLoss {
        optional {
            /// The distance beyond which the loss is 0.
            margin: f64 = 1.0,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for HingeEmbeddingLossConfig {
    type Output = HingeEmbeddingLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<HingeEmbeddingLoss> {
        Ok(HingeEmbeddingLoss::of(self))
    }
}

defaults!(HingeEmbeddingLoss, HingeEmbeddingLossConfig);

impl HingeEmbeddingLoss {
    fn of(config: &HingeEmbeddingLossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> HingeEmbeddingLossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for HingeEmbeddingLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        hinge_embedding_loss(&input, &target, self.config.margin, self.config.reduction)
    }
}
