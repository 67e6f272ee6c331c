use module_core::{Buffer, Forward, Maybe, Module, Result, Tensor};

use crate::Weights;
use crate::config::{Build, config};
use crate::functional::{Reduction, check_p, multi_margin_loss};
use crate::loss::{buffer, defaults, one_dimension, weights};

/// The correct class `y` against all others: `Σ w_y · max(0, margin - x_y + xᵢ)ᵖ / classes` over all `i ≠ y`.
///
/// # Shapes
///
/// A pair of an input `[batch, classes]` and a target of `I64` classes `[batch]`, or `[classes]` and `[]`. The
/// output has no dimensions, or those of the target with [`Reduction::None`].
///
/// # State dict
///
/// `weight` `[classes]`, a buffer, if there are weights.
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
/// let criterion = MultiMarginLoss::new();
/// let loss = criterion.call((Tensor::from([[0.5_f32, 1.0]]), Tensor::from([1_i64])))?;
/// assert_eq!(loss.item::<f32>()?, 0.25);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct MultiMarginLoss {
    weight: Maybe<Buffer>,
    #[module(skip)]
    config: MultiMarginLossConfig,
}

config! {
    /// The arguments of [`MultiMarginLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = MultiMarginLossConfig::new().p(2).margin(0.5).build()?;
    /// assert_eq!(criterion.config().p, 2);
    /// let config = MultiMarginLossConfig::new().p(2).margin(0.5).weight(Tensor::from([1.0_f32, 4.0]));
    /// let criterion = config.reduction(Reduction::None).build()?;
    /// let scores = Tensor::from([[0.25_f32, 0.5], [0.25, 0.5]]);
    /// // 0.75²/2, and four times 0.25²/2
    /// assert_eq!(criterion.call((scores, Tensor::from([0_i64, 1])))?.to_vec::<f32>()?, [0.28125, 0.125]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MultiMarginLossConfig => MultiMarginLoss {
        optional {
            /// The power of the shortfall, 1 or 2.
            p: u32 = 1_u32,
            /// The margin by which the correct class should lead.
            margin: f64 = 1.0,
            /// A weight for each class, `[classes]`.
            weight: Option<Weights> = None,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for MultiMarginLossConfig {
    type Output = MultiMarginLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// A `p` other than 1 and 2, a weight that is not one-dimensional.
    fn build(&self) -> Result<MultiMarginLoss> {
        const NAME: &str = "MultiMarginLoss";
        check_p(NAME, self.p)?;
        one_dimension(NAME, self.weight.as_ref())?;
        Ok(MultiMarginLoss::of(self))
    }
}

defaults!(MultiMarginLoss, MultiMarginLossConfig);

impl MultiMarginLoss {
    fn of(config: &MultiMarginLossConfig) -> Self {
        Self {
            weight: buffer(config.weight.as_ref()),
            // The buffers hold the weights.
            config: MultiMarginLossConfig {
                weight: None,
                ..config.clone()
            },
        }
    }

    /// The arguments that it was built from, with the present weights.
    pub fn config(&self) -> MultiMarginLossConfig {
        MultiMarginLossConfig {
            weight: weights(&self.weight),
            ..self.config.clone()
        }
    }
}

impl Forward<(Tensor, Tensor)> for MultiMarginLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        let weight = self.weight.get().map(Buffer::tensor);
        let &MultiMarginLossConfig {
            p,
            margin,
            reduction,
            ..
        } = &self.config;
        multi_margin_loss(&input, &target, p, margin, weight.as_ref(), reduction)
    }
}
