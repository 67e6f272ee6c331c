use module_core::{Forward, Marker, Module, Result, Tensor};

/// `1/(1 + e⁻ˣ)`, elementwise.
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
/// let y = Sigmoid::new().call(Tensor::from([-1000.0_f32, 0.0, 1000.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Sigmoid {
    marker: Marker,
}

impl Sigmoid {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for Sigmoid {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Sigmoid {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.sigmoid()
    }
}
