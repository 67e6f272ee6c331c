use module_core::module::{Number, Repr};
use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// 0 where `|x| ≤ λ`, else `x`, elementwise; NaN stays NaN.
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
/// let y = Hardshrink::new().call(Tensor::from([-2.0_f32, 0.5, 2.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-2.0, 0.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Hardshrink {
    lambd: Number,
}

config! {
    /// The arguments of [`Hardshrink`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let shrink = HardshrinkConfig::new().lambd(1.0).build()?;
    /// assert_eq!(shrink.call(Tensor::from([-2.0_f32, 0.75, 1.0]))?.to_vec::<f32>()?, [-2.0, 0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct HardshrinkConfig => Hardshrink {
        optional {
            /// The `λ`.
            lambd: Number = 0.5,
        }
    }
}

impl Build for HardshrinkConfig {
    type Output = Hardshrink;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: every number is allowed.
    fn build(&self) -> Result<Hardshrink> {
        let &Self { lambd } = self;
        Ok(Hardshrink { lambd })
    }
}

impl Hardshrink {
    /// Makes the layer with PyTorch's defaults; [`HardshrinkConfig`] has the arguments.
    pub fn new() -> Self {
        Self { lambd: 0.5.into() }
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", Repr(&self.lambd))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> HardshrinkConfig {
        HardshrinkConfig { lambd: self.lambd }
    }
}

impl Default for Hardshrink {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Hardshrink {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.hardshrink(*self.lambd)
    }
}
