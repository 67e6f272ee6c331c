use module_core::module::{Number, Repr};
use module_core::{Forward, Module, Result, Tensor, Training};

use crate::Argument;
use crate::config::{Build, check_between, config};

/// Dropout for [`SELU`](super::SELU), which keeps mean 0 and variance 1: in training, an element
/// becomes the lower bound of `SELU` with probability `p`, and all are then scaled and shifted; in
/// evaluation, returns its input.
///
/// The mask is the one that PyTorch draws from the same generator state.
///
/// Source: Klambauer, Unterthiner, Mayr and Hochreiter, *Self-Normalizing Neural Networks* (2017).
///
/// # Shapes
///
/// Any shape to the same.
///
/// # Errors
///
/// In training, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let dropout = AlphaDropout::new(0.5)?;
/// dropout.eval();
/// assert_eq!(dropout.call(Tensor::from([[1.0_f32]]))?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct AlphaDropout {
    p: Number,
    training: Training,
}

config! {
    /// The arguments of [`AlphaDropout`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// // With probability 1 there is nothing but the lower bound of SELU, shifted to 0.
    /// let dropout = AlphaDropoutConfig::new().p(1.0).build()?;
    /// assert_eq!(dropout.call(Tensor::from([3.0_f32]))?.to_vec::<f32>()?, [0.0]);
    /// assert!(AlphaDropoutConfig::new().p(1.5).build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct AlphaDropoutConfig => AlphaDropout {
        optional {
            /// The probability that an element is zeroed.
            p: Number = 0.5,
        }
    }
}

impl Build for AlphaDropoutConfig {
    type Output = AlphaDropout;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    fn build(&self) -> Result<AlphaDropout> {
        check_between("AlphaDropout", "p", *self.p, [0.0, 1.0])?;
        Ok(AlphaDropout {
            p: self.p,
            training: Training::new(),
        })
    }
}

impl AlphaDropout {
    /// Makes the layer with a probability of zeroing; PyTorch's default is 0.5.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    pub fn new(p: impl Argument<Number>) -> Result<Self> {
        AlphaDropoutConfig::new().p(p).build()
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p={}, inplace=False", Repr(&self.p))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> AlphaDropoutConfig {
        AlphaDropoutConfig { p: self.p }
    }
}

impl Forward for AlphaDropout {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        match self.training.is_training() {
            true => input.alpha_dropout(*self.p),
            false => Ok(input),
        }
    }
}
