use module_core::module::{Number, Repr};
use module_core::{Forward, Module, Result, Tensor, Training};

use crate::Argument;
use crate::config::{Build, check_between, config};

/// In training, zeroes each element with probability `p` and scales the rest by `1/(1 - p)`; in
/// evaluation, returns its input.
///
/// The mask is the one that PyTorch draws from the same generator state.
///
/// Source: Srivastava et al., *Dropout: A Simple Way to Prevent Neural Networks from
/// Overfitting* (2014).
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
/// let dropout = Dropout::new(0.5)?;
/// dropout.eval();
/// assert_eq!(dropout.call(Tensor::from([1.0_f32]))?.to_vec::<f32>()?, [1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Dropout {
    p: Number,
    training: Training,
}

config! {
    /// The arguments of [`Dropout`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let dropout = DropoutConfig::new().p(0.75).build()?;
    /// let y = fork_rng(0, || dropout.call(Tensor::ones([1000], DType::F32)?))?;
    /// // What stays is four times as large.
    /// assert!(y.to_vec::<f32>()?.iter().all(|&y| y == 0.0 || y == 4.0));
    /// assert_eq!(dropout.tree().to_string(), "Dropout(p=0.75, inplace=False)");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct DropoutConfig => Dropout {
        optional {
            /// The probability that an element is zeroed.
            p: Number = 0.5,
        }
    }
}

impl Build for DropoutConfig {
    type Output = Dropout;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    fn build(&self) -> Result<Dropout> {
        check_between("Dropout", "p", *self.p, [0.0, 1.0])?;
        Ok(Dropout {
            p: self.p,
            training: Training::new(),
        })
    }
}

impl Dropout {
    /// Makes the layer with a probability of zeroing; PyTorch's default is 0.5.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    pub fn new(p: impl Argument<Number>) -> Result<Self> {
        DropoutConfig::new().p(p).build()
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p={}, inplace=False", Repr(&self.p))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> DropoutConfig {
        DropoutConfig { p: self.p }
    }
}

impl Forward for Dropout {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        if self.training.is_training() {
            input.dropout(*self.p)
        } else {
            Ok(input)
        }
    }
}
