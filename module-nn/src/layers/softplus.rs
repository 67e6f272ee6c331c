use module_core::module::Number;
use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// `ln(1 + e^(βx)) / β`, elementwise; `x` itself where `βx` exceeds the threshold.
///
/// # Shapes
///
/// Any shape to the same.
///
/// # Errors
///
/// A dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let y = Softplus::new().call(Tensor::from([0.0_f64, 25.0]))?;
/// assert_eq!(y.to_vec::<f64>()?, [std::f64::consts::LN_2, 25.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Softplus {
    beta: Number,
    threshold: Number,
}

config! {
    /// The arguments of [`Softplus`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let softplus = SoftplusConfig::new().beta(2.0).threshold(4.0).build()?;
    /// let y = softplus.call(Tensor::from([0.0_f64, 2.5]))?;
    /// assert_eq!(y.to_vec::<f64>()?, [std::f64::consts::LN_2 / 2.0, 2.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SoftplusConfig => Softplus {
        optional {
            /// The `β`.
            beta: Number = 1.0,
            /// The threshold above which the function is treated as linear.
            threshold: Number = 20.0,
        }
    }
}

impl Build for SoftplusConfig {
    type Output = Softplus;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: every number is allowed.
    fn build(&self) -> Result<Softplus> {
        let &Self { beta, threshold } = self;
        Ok(Softplus { beta, threshold })
    }
}

impl Softplus {
    /// Makes the layer with PyTorch's defaults; [`SoftplusConfig`] has the arguments.
    pub fn new() -> Self {
        Self {
            beta: 1.0.into(),
            threshold: 20.0.into(),
        }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> SoftplusConfig {
        SoftplusConfig {
            beta: self.beta,
            threshold: self.threshold,
        }
    }
}

impl Default for Softplus {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Softplus {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.softplus(*self.beta, *self.threshold)
    }
}
