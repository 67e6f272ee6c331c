use module_core::{Buffer, Forward, Maybe, Module, Result, Tensor};

use crate::Weights;
use crate::config::{Build, config};
use crate::functional::{Reduction, binary_cross_entropy};
use crate::loss::{buffer, defaults, weights};

/// The cross-entropy of probabilities with targets between 0 and 1: `-w (y · ln x + (1 - y) · ln(1 - x))`, where logarithms
/// are at least -100.
///
/// # Shapes
///
/// A pair of an input and a target of the same shape. The output has no dimensions, or that shape with [`Reduction::None`].
/// The weight broadcasts to it.
///
/// # State dict
///
/// `weight`, a buffer, if there is one.
///
/// # Errors
///
/// Shapes that differ, even if they would broadcast; different dtypes, or one that is not floating-point; an input or a
/// target outside `[0, 1]`; a weight that does not broadcast to the losses.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = BCELoss::new();
/// let loss = criterion.call((Tensor::from([0.5_f32]), Tensor::from([1.0_f32])))?;
/// assert_eq!(loss.item::<f32>()?, 2.0_f32.ln());
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct BCELoss {
    weight: Maybe<Buffer>,
    #[module(skip)]
    config: BCELossConfig,
}

config! {
    /// The arguments of [`BCELoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = BCELossConfig::new().reduction(Reduction::Sum).build()?;
    /// assert_eq!(criterion.config().weight, None);
    /// // 2·ln 2 - ln 0.75
    /// let criterion = BCELossConfig::new().weight(Tensor::from([2.0_f64, 1.0])).reduction(Reduction::Sum).build()?;
    /// let loss = criterion.call((Tensor::from([0.5_f64, 0.25]), Tensor::from([1.0_f64, 0.0])))?;
    /// assert!((loss.item::<f64>()? - (2.0 * 2.0_f64.ln() - 0.75_f64.ln())).abs() < 1e-12);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct BCELossConfig => BCELoss {
        optional {
            /// A weight of the losses, to which it broadcasts.
            weight: Option<Weights> = None,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for BCELossConfig {
    type Output = BCELoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// None.
    fn build(&self) -> Result<BCELoss> {
        Ok(BCELoss::of(self))
    }
}

defaults!(BCELoss, BCELossConfig);

impl BCELoss {
    fn of(config: &BCELossConfig) -> Self {
        Self {
            weight: buffer(config.weight.as_ref()),
            // The buffers hold the weights.
            config: BCELossConfig {
                weight: None,
                ..config.clone()
            },
        }
    }

    /// The arguments that it was built from, with the present weights.
    pub fn config(&self) -> BCELossConfig {
        BCELossConfig {
            weight: weights(&self.weight),
            ..self.config.clone()
        }
    }
}

impl Forward<(Tensor, Tensor)> for BCELoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        let weight = self.weight.get().map(Buffer::tensor);
        binary_cross_entropy(&input, &target, weight.as_ref(), self.config.reduction)
    }
}
