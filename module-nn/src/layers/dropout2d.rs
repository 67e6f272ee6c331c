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
/// `[batch, channels, height, width]` to the same. As in PyTorch, the second of any two or more dimensions is the channels,
/// so three dimensions are not an image without a batch.
///
/// # Errors
///
/// In training, fewer than two dimensions, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let dropout = Dropout2d::new(0.5)?;
/// dropout.eval();
/// assert_eq!(dropout.call(Tensor::from([[1.0_f32]]))?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Dropout2d {
    p: Number,
    training: Training,
}

config! {
    /// The arguments of [`Dropout2d`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let dropout = Dropout2dConfig::new().p(0.75).build()?;
    /// let y = fork_rng(0, || dropout.call(Tensor::ones([3, 5, 1, 2], DType::F32)?))?;
    /// // A channel stays or is zeroed as a whole.
    /// let ends = y.narrow(3, 0..1)?.equal(&y.narrow(3, 1..2)?)?;
    /// assert!(ends && y.to_vec::<f32>()?.iter().all(|&y| y == 0.0 || y == 4.0));
    /// # Ok::<(), Error>(())
    /// ```
    pub struct Dropout2dConfig => Dropout2d {
        optional {
            /// The probability that an element is zeroed.
            p: Number = 0.5,
        }
    }
}

impl Build for Dropout2dConfig {
    type Output = Dropout2d;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    fn build(&self) -> Result<Dropout2d> {
        check_between("Dropout2d", "p", *self.p, [0.0, 1.0])?;
        Ok(Dropout2d {
            p: self.p,
            training: Training::new(),
        })
    }
}

impl Dropout2d {
    /// Makes the layer with a probability of zeroing; PyTorch's default is 0.5.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    pub fn new(p: impl Argument<Number>) -> Result<Self> {
        Dropout2dConfig::new().p(p).build()
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p={}, inplace=False", Repr(&self.p))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> Dropout2dConfig {
        Dropout2dConfig { p: self.p }
    }
}

impl Forward for Dropout2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        match self.training.is_training() {
            true => input.feature_dropout(*self.p),
            false => Ok(input),
        }
    }
}
