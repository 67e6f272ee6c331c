use module_core::module::{Number, Repr};
use module_core::{Forward, Module, Result, Tensor, Training};

use crate::Argument;
use crate::config::{Build, check_between, config};

/// In training, zeroes each channel with probability `p` and scales the rest by `1/(1 - p)`; in
/// evaluation, returns its input.
///
/// The mask is the one that PyTorch draws from the same generator state.
///
/// Source: Tompson, Goroshin, Jain, LeCun and Bregler, *Efficient Object Localization Using
/// Convolutional Networks* (2015).
///
/// # Shapes
///
/// `[batch, channels, length]`, or without the batch, to the same.
///
/// # Errors
///
/// A wrong number of dimensions; in training, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let dropout = Dropout1d::new(0.5)?;
/// dropout.eval();
/// assert_eq!(dropout.call(Tensor::from([[1.0_f32]]))?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Dropout1d {
    p: Number,
    training: Training,
}

config! {
    /// The arguments of [`Dropout1d`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let dropout = Dropout1dConfig::new().p(0.75).build()?;
    /// let y = fork_rng(0, || dropout.call(Tensor::ones([9, 2], DType::F32)?))?;
    /// // A channel stays or is zeroed as a whole.
    /// let ends = y.narrow(1, 0..1)?.equal(&y.narrow(1, 1..2)?)?;
    /// assert!(ends && y.to_vec::<f32>()?.iter().all(|&y| y == 0.0 || y == 4.0));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct Dropout1dConfig => Dropout1d {
        optional {
            /// The probability that an element is zeroed.
            p: Number = 0.5,
        }
    }
}

impl Build for Dropout1dConfig {
    type Output = Dropout1d;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    fn build(&self) -> Result<Dropout1d> {
        check_between("Dropout1d", "p", *self.p, [0.0, 1.0])?;
        Ok(Dropout1d {
            p: self.p,
            training: Training::new(),
        })
    }
}

impl Dropout1d {
    /// Makes the layer with a probability of zeroing; PyTorch's default is 0.5.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    pub fn new(p: impl Argument<Number>) -> Result<Self> {
        Dropout1dConfig::new().p(p).build()
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p={}, inplace=False", Repr(&self.p))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> Dropout1dConfig {
        Dropout1dConfig { p: self.p }
    }
}

impl Forward for Dropout1d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        let training = self.training.is_training();
        match input.rank() {
            3 if training => input.feature_dropout(*self.p),
            2 if training => input.unsqueeze(0)?.feature_dropout(*self.p)?.squeeze(0),
            2 | 3 => Ok(input),
            _ => {
                let expected = "[batch, channels, length], with or without the batch";
                Err(input.shape().error("dropout1d", expected))
            }
        }
    }
}
