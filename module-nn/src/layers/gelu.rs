pub use module_core::Approximate;
use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// `x Φ(x)`, elementwise, with the normal distribution function `Φ`, or `approximate = "tanh"`:
/// `x · ½ (1 + tanh(√(2/π) (x + 0.044715 x³)))`.
///
/// Source: Hendrycks and Gimpel, *Gaussian Error Linear Units* (2016).
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
/// let x = Tensor::from(1.0_f64);
/// let y = GELU::new().call(x.clone())?.item::<f64>()?;
/// let near = GELUConfig::new().approximate(Approximate::Tanh).build()?.call(x)?.item::<f64>()?;
/// assert!((y - 0.841_345).abs() < 1e-6 && (near - 0.841_192).abs() < 1e-6);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct GELU {
    #[module(skip)]
    approximate: Approximate,
}

config! {
    /// The arguments of [`GELU`].
    pub struct GELUConfig => GELU {
        optional {
            /// `"none"`, or `"tanh"` for the tanh approximation.
            approximate: Approximate = Approximate::None,
        }
    }
}

impl Build for GELUConfig {
    type Output = GELU;

    /// The activation.
    ///
    /// # Errors
    ///
    /// None: both forms are supported.
    fn build(&self) -> Result<GELU> {
        let &Self { approximate } = self;
        Ok(GELU { approximate })
    }
}

impl GELU {
    /// Makes the layer with the exact form; [`GELUConfig`] has the approximation.
    pub fn new() -> Self {
        let approximate = Approximate::None;
        Self { approximate }
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let form = match self.approximate {
            Approximate::None => "none",
            Approximate::Tanh => "tanh",
        };
        write!(f, "approximate='{form}'")
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> GELUConfig {
        GELUConfig {
            approximate: self.approximate,
        }
    }
}

impl Default for GELU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for GELU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.gelu(self.approximate)
    }
}
