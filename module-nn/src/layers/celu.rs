use module_core::module::Number;
use module_core::{Error, Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// `max(x, 0) + min(0, α (e^(x/α) - 1))`, elementwise: an [`ELU`](super::ELU) whose slope is
/// continuous for every `α`.
///
/// Source: Barron, *Continuously Differentiable Exponential Linear Units* (2017).
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
/// let y = CELUConfig::new().alpha(1.5).build()?.call(Tensor::from([2.0_f32, f32::NEG_INFINITY]))?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, -1.5]);
///
/// let celu: CELU = CELU::new(); // An `alpha` of 1.
/// assert_eq!(celu.call(Tensor::from([f32::NEG_INFINITY]))?.item::<f32>()?, -1.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct CELU {
    alpha: Number,
}

config! {
    /// The arguments of [`CELU`].
    pub struct CELUConfig => CELU {
        optional {
            /// The `α` of the negative side.
            alpha: Number = 1.0,
        }
    }
}

impl Build for CELUConfig {
    type Output = CELU;

    /// The activation.
    ///
    /// # Errors
    ///
    /// An `alpha` of 0.
    fn build(&self) -> Result<CELU> {
        let &Self { alpha } = self;
        if *alpha == 0.0 {
            return Err(Error::argument("CELU", "alpha", alpha, "must not be 0"));
        }
        Ok(CELU { alpha })
    }
}

impl CELU {
    /// Makes the layer with PyTorch's defaults; [`CELUConfig`] has the arguments.
    pub fn new() -> Self {
        Self { alpha: 1.0.into() }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> CELUConfig {
        CELUConfig { alpha: self.alpha }
    }
}

impl Default for CELU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for CELU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.celu(*self.alpha)
    }
}
