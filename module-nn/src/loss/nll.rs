use module_core::{Buffer, Forward, Maybe, Module, Result, Tensor};

use crate::Weights;
use crate::config::{Build, config};
use crate::functional::{NllLossOptions, Reduction, nll_loss};
use crate::loss::{buffer, defaults, one_dimension, weights};

/// The negative log-likelihood of classes under log-probabilities: `-wᶜ · xᶜ` at the class `c` of each element. The mean
/// divides by the sum of the weights.
///
/// # Shapes
///
/// A pair of log-probabilities `[batch, classes]`, `[batch, classes, …]` or `[classes]` and a target of `I64` classes in
/// that shape without the classes. The output has no dimensions, or those of the target with [`Reduction::None`].
///
/// # State dict
///
/// `weight` `[classes]`, a buffer, if there are weights.
///
/// # Errors
///
/// A target of another shape, even if it would broadcast; a class that is out of range; an input that is not
/// floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = NLLLoss::new();
/// let loss = criterion.call((Tensor::from([[-1.0_f32, -2.0]]), Tensor::from([1_i64])))?;
/// assert_eq!(loss.item::<f32>()?, 2.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct NLLLoss {
    weight: Maybe<Buffer>,
    #[module(skip)]
    config: NLLLossConfig,
}

config! {
    /// The arguments of [`NLLLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = NLLLossConfig::new().ignore_index(0).build()?;
    /// assert_eq!(criterion.config().ignore_index, 0);
    /// let config = NLLLossConfig::new().weight(Tensor::from([1.0_f32, 3.0])).ignore_index(-1);
    /// let criterion = config.reduction(Reduction::Sum).build()?;
    /// let log_probs = Tensor::from([[-1.0_f32, -2.0], [-3.0, -4.0], [-5.0, -6.0]]);
    /// assert_eq!(criterion.call((log_probs, Tensor::from([0_i64, 1, -1])))?.item::<f32>()?, 13.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct NLLLossConfig => NLLLoss {
        optional {
            /// A weight for each class, `[classes]`.
            weight: Option<Weights> = None,
            /// A target class that is ignored.
            ignore_index: i64 = -100_i64,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
        }
    }
}

impl Build for NLLLossConfig {
    type Output = NLLLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// A weight that is not one-dimensional.
    fn build(&self) -> Result<NLLLoss> {
        const NAME: &str = "NLLLoss";
        one_dimension(NAME, self.weight.as_ref())?;
        Ok(NLLLoss::of(self))
    }
}

defaults!(NLLLoss, NLLLossConfig);

impl NLLLoss {
    fn of(config: &NLLLossConfig) -> Self {
        Self {
            weight: buffer(config.weight.as_ref()),
            // The buffers hold the weights.
            config: NLLLossConfig {
                weight: None,
                ..config.clone()
            },
        }
    }

    /// The arguments that it was built from, with the present weights.
    pub fn config(&self) -> NLLLossConfig {
        NLLLossConfig {
            weight: weights(&self.weight),
            ..self.config.clone()
        }
    }
}

impl Forward<(Tensor, Tensor)> for NLLLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        let weight = self.weight.get().map(Buffer::tensor);
        nll_loss(
            &input,
            &target,
            NllLossOptions::new()
                .weight(weight.as_ref())
                .ignore_index(self.config.ignore_index)
                .reduction(self.config.reduction),
        )
    }
}
