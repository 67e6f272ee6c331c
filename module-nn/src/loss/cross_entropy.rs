use module_core::{Buffer, Forward, Maybe, Module, Result, Tensor};

use crate::Weights;
use crate::config::{Build, check_between, config};
use crate::functional::{CrossEntropyOptions, Reduction, cross_entropy};
use crate::loss::weights;

/// The cross-entropy between logits and classes or probabilities:
/// `-Σ wᶜ · tᶜ · log softmax(x)ᶜ`.
///
/// # Shapes
///
/// A pair of logits `[batch, classes]`, `[batch, classes, …]` or `[classes]` and a target: classes
/// as `I64` without the dimension of the classes, or probabilities in the shape of the logits. The
/// output has no dimensions, or those of the classes with [`Reduction::None`].
///
/// # State dict
///
/// `weight` `[classes]`, a buffer, if there are weights.
///
/// # Errors
///
/// A target of another shape, even if it would broadcast; a class that is out of range.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = CrossEntropyLoss::new();
/// let loss = criterion.call((Tensor::from([[5.0_f32, -5.0]]), Tensor::from([0_i64])))?;
/// assert!(loss.item::<f32>()? < 1e-4);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct CrossEntropyLoss {
    weight: Maybe<Buffer>,
    #[module(skip)]
    ignore_index: i64,
    #[module(skip)]
    reduction: Reduction,
    #[module(skip)]
    label_smoothing: f64,
}

config! {
    /// The arguments of [`CrossEntropyLoss`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
    /// assert_eq!(criterion.config().ignore_index, -100);
    /// // Equal logits: ln 2, three times as much for class 1, and nothing for what is ignored.
    /// let config = CrossEntropyLossConfig::new().weight(Tensor::from([1.0_f32, 3.0])).ignore_index(-1);
    /// let criterion = config.reduction(Reduction::None).build()?;
    /// let target = Tensor::from([0_i64, 1, -1]);
    /// let losses = criterion.call((Tensor::zeros([3, 2], DType::F32)?, target))?.to_vec::<f32>()?;
    /// assert!((losses[1] - 3.0 * losses[0]).abs() < 1e-6 && losses[2] == 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct CrossEntropyLossConfig => CrossEntropyLoss {
        optional {
            /// A weight for each class, `[classes]`.
            weight: Option<Weights> = None,
            /// A target class that is ignored.
            ignore_index: i64 = -100,
            /// How the per-element losses are reduced.
            reduction: Reduction = Reduction::Mean,
            /// How much of the target is spread evenly over all classes.
            label_smoothing: f64 = 0.0,
        }
    }
}

impl Build for CrossEntropyLossConfig {
    type Output = CrossEntropyLoss;

    /// The loss.
    ///
    /// # Errors
    ///
    /// A weight that is not one-dimensional, smoothing outside `[0, 1]`.
    fn build(&self) -> Result<CrossEntropyLoss> {
        const NAME: &str = "CrossEntropyLoss";
        check_between(NAME, "label_smoothing", self.label_smoothing, [0.0, 1.0])?;
        let weight = self.weight.as_ref().map(Weights::tensor);
        if let Some(weight) = weight.filter(|weight| weight.rank() != 1) {
            return Err(weight.shape().error(NAME, "a weight [classes]"));
        }
        Ok(CrossEntropyLoss {
            weight: match weight {
                Some(weight) => Maybe::Present(Buffer::new(weight.clone())),
                None => Maybe::Absent,
            },
            ignore_index: self.ignore_index,
            reduction: self.reduction,
            label_smoothing: self.label_smoothing,
        })
    }
}

impl CrossEntropyLoss {
    /// The mean over all elements, without weights or smoothing.
    pub fn new() -> Self {
        let CrossEntropyOptions {
            ignore_index,
            reduction,
            label_smoothing,
            ..
        } = CrossEntropyOptions::default();
        Self {
            weight: Maybe::Absent,
            ignore_index,
            reduction,
            label_smoothing,
        }
    }

    /// PyTorch prints no arguments.
    fn extra_repr(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }

    /// The arguments that it was built from, with the present weights.
    pub fn config(&self) -> CrossEntropyLossConfig {
        CrossEntropyLossConfig {
            weight: weights(&self.weight),
            ignore_index: self.ignore_index,
            reduction: self.reduction,
            label_smoothing: self.label_smoothing,
        }
    }
}

impl Default for CrossEntropyLoss {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward<(Tensor, Tensor)> for CrossEntropyLoss {
    type Output = Tensor;

    fn forward(&self, (input, target): (Tensor, Tensor)) -> Result<Tensor> {
        let weight = self.weight.get().map(Buffer::tensor);
        let options = CrossEntropyOptions::new()
            .weight(weight.as_ref())
            .ignore_index(self.ignore_index)
            .reduction(self.reduction)
            .label_smoothing(self.label_smoothing);
        cross_entropy(&input, &target, options)
    }
}
