use module_core::{Buffer, Forward, Maybe, Module, Result, Tensor};

use crate::Weights;
use crate::config::{Build, config};
use crate::functional::{Reduction, binary_cross_entropy_with_logits};
use crate::loss::{buffer, defaults, weights};

/// The cross-entropy of logits with targets between 0 and 1: `-w (p · y · ln σ(x) + (1 - y) · ln(1 - σ(x)))`, without
/// overflow. A `pos_weight` (`p`) above 1 raises recall, one below 1 precision.
///
/// # Shapes
///
/// A pair of an input and a target of the same shape. The output has no dimensions, or that shape with [`Reduction::None`].
/// The weights broadcast to it.
///
/// # State dict
///
/// `weight` and `pos_weight`, buffers, if there are any.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes, or one that is not floating-point; weights that do
/// not broadcast to the losses.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = BCEWithLogitsLoss::new();
/// let loss = criterion.call((Tensor::from([0.0_f32]), Tensor::from([1.0_f32])))?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct BCEWithLogitsLoss {
    weight: Maybe<Buffer>,
    pos_weight: Maybe<Buffer>,
    #[module(skip)]
    config: BCEWithLogitsLossConfig,
}

config! {
    /// The arguments of [`BCEWithLogitsLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = BCEWithLogitsLossConfig::new().pos_weight(Tensor::from([2.0_f32, 1.0])).build()?;
    /// let pair = || (Tensor::from([0.0_f32, 0.0]), Tensor::from([1.0_f32, 0.0]));
    /// assert!((criterion.call(pair())?.item::<f32>()? - 1.5 * 2.0_f32.ln()).abs() < 1e-6);
    /// // ln 2, three times as much for the second class.
    /// let config = BCEWithLogitsLossConfig::new().weight(Tensor::from([1.0_f32, 3.0])).reduction(Reduction::Sum);
    /// let loss = config.build()?.call(pair())?.item::<f32>()?;
    /// assert!((loss - 4.0 * 2.0_f32.ln()).abs() < 1e-6);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct BCEWithLogitsLossConfig => BCEWithLogitsLoss {
        optional {
            /// A weight of the losses, to which it broadcasts.
            weight: Option<Weights> = None,
            /// A weight of positive targets, usually `[classes]`.
            pos_weight: Option<Weights> = None,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for BCEWithLogitsLossConfig {
    type Output = BCEWithLogitsLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<BCEWithLogitsLoss> {
        Ok(BCEWithLogitsLoss::of(self))
    }
}

defaults!(BCEWithLogitsLoss, BCEWithLogitsLossConfig);

impl BCEWithLogitsLoss {
    fn of(config: &BCEWithLogitsLossConfig) -> Self {
        Self {
            weight: buffer(config.weight.as_ref()),
            pos_weight: buffer(config.pos_weight.as_ref()),
            // The buffers hold the weights.
            config: BCEWithLogitsLossConfig {
                weight: None,
                pos_weight: None,
                ..config.clone()
            },
        }
    }

    /// The arguments that it was built from, with the present weights.
    pub fn config(&self) -> BCEWithLogitsLossConfig {
        BCEWithLogitsLossConfig {
            weight: weights(&self.weight),
            pos_weight: weights(&self.pos_weight),
            ..self.config.clone()
        }
    }
}

impl Forward<(Tensor, Tensor)> for BCEWithLogitsLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        let weight = self.weight.get().map(Buffer::tensor);
        let pos_weight = self.pos_weight.get().map(Buffer::tensor);
        binary_cross_entropy_with_logits(
            &input,
            &target,
            weight.as_ref(),
            self.config.reduction,
            pos_weight.as_ref(),
        )
    }
}
