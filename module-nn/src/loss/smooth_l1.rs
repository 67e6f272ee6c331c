use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_between, config};
use crate::functional::{Reduction, smooth_l1_loss};
use crate::loss::defaults;

/// Squared below a distance of `beta`, absolute above: with `z = |x - y|` it is `z² / (2 beta)` if `z < beta` and
/// `z - beta / 2` otherwise.
///
/// Source: Girshick, *Fast R-CNN* (2015).
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
/// let criterion = SmoothL1Loss::new();
/// let loss = criterion.call((Tensor::from([0.0_f32]), Tensor::from([0.5_f32])))?;
/// assert_eq!(loss.item::<f32>()?, 0.125);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct SmoothL1Loss {
    #[module(skip)]
    config: SmoothL1LossConfig,
}

config! {
    /// The arguments of [`SmoothL1Loss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = SmoothL1LossConfig::new().beta(0.5).build()?;
    /// assert_eq!(criterion.config().beta, 0.5);
    /// let criterion = SmoothL1LossConfig::new().beta(0.5).reduction(Reduction::None).build()?;
    /// let losses = criterion.call((Tensor::from([0.25_f32, 2.0]), Tensor::from([0.0_f32, 0.0])))?;
    /// assert_eq!(losses.to_vec::<f32>()?, [0.0625, 1.75]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SmoothL1LossConfig => SmoothL1Loss {
        optional {
            /// The distance up to which the loss is quadratic; 0 makes it [`L1Loss`](crate::L1Loss).
            beta: f64 = 1.0,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for SmoothL1LossConfig {
    type Output = SmoothL1Loss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// A `beta` below 0.
    fn build(&self) -> Result<SmoothL1Loss> {
        const NAME: &str = "SmoothL1Loss";
        check_between(NAME, "beta", self.beta, [0.0, f64::INFINITY])?;
        Ok(SmoothL1Loss::of(self))
    }
}

defaults!(SmoothL1Loss, SmoothL1LossConfig);

impl SmoothL1Loss {
    fn of(config: &SmoothL1LossConfig) -> Self {
        let config = config.clone();
        Self { config }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> SmoothL1LossConfig {
        self.config.clone()
    }
}

impl Forward<(Tensor, Tensor)> for SmoothL1Loss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        smooth_l1_loss(&input, &target, self.config.reduction, self.config.beta)
    }
}
