use module_core::module::Number;
use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// `x` where it exceeds the threshold, else `value`, elementwise; NaN stays NaN.
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
/// let y = Threshold::new(1.0, -2.0)?.call(Tensor::from([0.5_f32, 1.5]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-2.0, 1.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Threshold {
    threshold: Number,
    value: Number,
}

config! {
    /// The arguments of [`Threshold`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let layer = ThresholdConfig::new(0.5, 20.0).build()?;
    /// assert_eq!(layer.tree().to_string(), "Threshold(threshold=0.5, value=20.0)");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct ThresholdConfig => Threshold {
        required {
            /// The threshold.
            threshold: Number,
            /// The value for all other elements.
            value: Number,
        }
    }
}

impl Build for ThresholdConfig {
    type Output = Threshold;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: every number is allowed.
    fn build(&self) -> Result<Threshold> {
        let &Self { threshold, value } = self;
        Ok(Threshold { threshold, value })
    }
}

impl Threshold {
    /// The arguments that it was built from.
    pub fn config(&self) -> ThresholdConfig {
        ThresholdConfig {
            threshold: self.threshold,
            value: self.value,
        }
    }
}

impl Forward for Threshold {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.threshold(*self.threshold, *self.value)
    }
}
