use module_core::module::{Number, Repr};
use module_core::{Forward, Module, Result, Tensor, Training};

use crate::Argument;
use crate::config::{Build, check_between, config};

/// [`AlphaDropout`](super::AlphaDropout) of whole channels.
///
/// The mask is the one that PyTorch draws from the same generator state.
///
/// Source: Klambauer, Unterthiner, Mayr and Hochreiter, *Self-Normalizing Neural Networks* (2017).
///
/// # Shapes
///
/// `[batch, channels, …]` to the same.
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
/// let dropout = FeatureAlphaDropout::new(0.5)?;
/// dropout.eval();
/// assert_eq!(dropout.call(Tensor::from([[1.0_f32]]))?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct FeatureAlphaDropout {
    p: Number,
    training: Training,
}

config! {
    /// The arguments of [`FeatureAlphaDropout`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let dropout = FeatureAlphaDropoutConfig::new().p(0.5).build()?;
    /// let y = fork_rng(0, || dropout.call(Tensor::ones([3, 5, 2], DType::F32)?))?;
    /// // A channel stays or is replaced as a whole.
    /// assert!(y.narrow(2, 0..1)?.equal(&y.narrow(2, 1..2)?)?);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct FeatureAlphaDropoutConfig => FeatureAlphaDropout {
        optional {
            /// The probability that an element is zeroed.
            p: Number = 0.5,
        }
    }
}

impl Build for FeatureAlphaDropoutConfig {
    type Output = FeatureAlphaDropout;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    fn build(&self) -> Result<FeatureAlphaDropout> {
        check_between("FeatureAlphaDropout", "p", *self.p, [0.0, 1.0])?;
        Ok(FeatureAlphaDropout {
            p: self.p,
            training: Training::new(),
        })
    }
}

impl FeatureAlphaDropout {
    /// Makes the layer with a probability of zeroing; PyTorch's default is 0.5.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    pub fn new(p: impl Argument<Number>) -> Result<Self> {
        FeatureAlphaDropoutConfig::new().p(p).build()
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p={}, inplace=False", Repr(&self.p))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> FeatureAlphaDropoutConfig {
        FeatureAlphaDropoutConfig { p: self.p }
    }
}

impl Forward for FeatureAlphaDropout {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        match self.training.is_training() {
            true => input.feature_alpha_dropout(*self.p),
            false => Ok(input),
        }
    }
}
