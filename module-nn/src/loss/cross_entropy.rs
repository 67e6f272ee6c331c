use module_core::{Buffer, Error, ErrorKind, Forward, Maybe, Module, Result, Tensor};

use crate::functional::{CrossEntropyOptions, Reduction, cross_entropy};

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
/// A target of another shape, also where it would broadcast; a class that is out of range.
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
#[module(extra_repr = Self::extra_repr)]
pub struct CrossEntropyLoss {
    weight: Maybe<Buffer>,
    #[module(skip)]
    ignore_index: i64,
    #[module(skip)]
    reduction: Reduction,
    #[module(skip)]
    label_smoothing: f64,
}

/// The arguments of [`CrossEntropyLoss`].
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let criterion = CrossEntropyLossConfig::new().label_smoothing(0.1).build()?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CrossEntropyLossConfig {
    weight: Option<Tensor>,
    ignore_index: Option<i64>,
    reduction: Reduction,
    label_smoothing: f64,
}

crate::config::setters!(CrossEntropyLossConfig {
    /// A weight for each class, `[classes]`; none by default.
    weight: Option<Tensor>,
    /// A class whose elements count nothing; -100 by default.
    ignore_index: Option<i64>,
    /// How the losses of the elements are joined; their mean by default.
    reduction: Reduction,
    /// How much of the target is spread evenly over all classes; 0 by default.
    label_smoothing: f64,
});

impl CrossEntropyLossConfig {
    /// PyTorch's defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The loss.
    ///
    /// # Errors
    ///
    /// A weight that has not one dimension, smoothing outside `[0, 1]`.
    pub fn build(&self) -> Result<CrossEntropyLoss> {
        const NAME: &str = "CrossEntropyLoss";
        if !(0.0..=1.0).contains(&self.label_smoothing) {
            let problem = "must be between 0 and 1";
            return Err(Error::argument(
                NAME,
                "label_smoothing",
                self.label_smoothing,
                problem,
            ));
        }
        if let Some(weight) = self.weight.as_ref().filter(|weight| weight.rank() != 1) {
            let (expected, got) = ("a weight [classes]".to_owned(), weight.shape().clone());
            return Err(ErrorKind::Shape {
                op: NAME,
                expected,
                got,
            }
            .into());
        }
        Ok(CrossEntropyLoss {
            weight: match &self.weight {
                Some(weight) => Maybe::Present(Buffer::new(weight.clone())),
                None => Maybe::Absent,
            },
            ignore_index: self
                .ignore_index
                .unwrap_or(CrossEntropyOptions::default().ignore_index),
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
        let options = CrossEntropyOptions {
            weight: weight.as_ref(),
            ignore_index: self.ignore_index,
            reduction: self.reduction,
            label_smoothing: self.label_smoothing,
        };
        cross_entropy(&input, &target, options)
    }
}
