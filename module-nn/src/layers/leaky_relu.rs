use module_core::module::Number;
use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// `x` where it is positive, else `negative_slope · x`, elementwise.
///
/// Source: Maas, Hannun and Ng, *Rectifier Nonlinearities Improve Neural Network Acoustic Models* (2013).
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
/// let y = LeakyReLU::new().call(Tensor::from([2.0_f32, -2.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, -0.02]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct LeakyReLU {
    negative_slope: Number,
}

config! {
    /// The arguments of [`LeakyReLU`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let relu = LeakyReLUConfig::new().negative_slope(0.25).build()?;
    /// assert_eq!(relu.call(Tensor::from([2.0_f32, -2.0]))?.to_vec::<f32>()?, [2.0, -0.5]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct LeakyReLUConfig => LeakyReLU {
        optional {
            /// The slope of the negative side.
            negative_slope: Number = 0.01,
        }
    }
}

impl Build for LeakyReLUConfig {
    type Output = LeakyReLU;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: every number is allowed.
    fn build(&self) -> Result<LeakyReLU> {
        let &Self { negative_slope } = self;
        Ok(LeakyReLU { negative_slope })
    }
}

impl LeakyReLU {
    /// Makes the layer with PyTorch's defaults; [`LeakyReLUConfig`] has the arguments.
    pub fn new() -> Self {
        Self {
            negative_slope: 0.01.into(),
        }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> LeakyReLUConfig {
        LeakyReLUConfig {
            negative_slope: self.negative_slope,
        }
    }
}

impl Default for LeakyReLU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for LeakyReLU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.leaky_relu(*self.negative_slope)
    }
}
