use module_core::{Forward, Marker, Module, Result, Tensor};

/// `x/(1 + e⁻ˣ)`, elementwise; also called swish.
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
/// let y = SiLU::new().call(Tensor::from([0.0_f32, 100.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 100.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct SiLU {
    marker: Marker,
}

impl SiLU {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for SiLU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for SiLU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.silu()
    }
}
