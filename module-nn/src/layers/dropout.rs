use module_core::module::Repr;
use module_core::{Error, Forward, Module, Result, Tensor, Training};

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
#[module(extra_repr = Self::extra_repr)]
pub struct Dropout {
    p: f64,
    training: Training,
}

impl Dropout {
    /// With a probability of zeroing; PyTorch's default is 0.5.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`.
    pub fn new(p: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&p) {
            return Err(Error::argument(
                "Dropout",
                "p",
                p,
                "must be between 0 and 1",
            ));
        }
        Ok(Self {
            p,
            training: Training::new(),
        })
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "p={}, inplace=False", Repr(&self.p))
    }
}

impl Forward for Dropout {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        if self.training.is_training() {
            input.dropout(self.p)
        } else {
            Ok(input)
        }
    }
}
