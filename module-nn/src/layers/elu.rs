use module_core::module::Number;
use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// `max(x, 0) + min(0, α (eˣ - 1))`, elementwise.
///
/// Source: Clevert, Unterthiner and Hochreiter, *Fast and Accurate Deep Network Learning by Exponential
/// Linear Units* (2015).
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
/// let y = ELUConfig::new().alpha(1.5).build()?.call(Tensor::from([2.0_f32, f32::NEG_INFINITY]))?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, -1.5]);
///
/// let elu: ELU = ELU::new(); // An `alpha` of 1.
/// assert_eq!(elu.call(Tensor::from([f32::NEG_INFINITY]))?.item::<f32>()?, -1.0);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct ELU {
    alpha: Number,
}

config! {
    /// The arguments of [`ELU`].
    pub struct ELUConfig => ELU {
        optional {
            /// The `α` of the negative side.
            alpha: Number = 1.0,
        }
    }
}

impl Build for ELUConfig {
    type Output = ELU;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: every number is allowed.
    fn build(&self) -> Result<ELU> {
        let &Self { alpha } = self;
        Ok(ELU { alpha })
    }
}

impl ELU {
    /// Makes the layer with PyTorch's defaults; [`ELUConfig`] has the arguments.
    pub fn new() -> Self {
        Self { alpha: 1.0.into() }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> ELUConfig {
        ELUConfig { alpha: self.alpha }
    }
}

impl Default for ELU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for ELU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.elu(*self.alpha)
    }
}
