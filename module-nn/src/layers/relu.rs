use module_core::{Forward, Marker, Module, Result, Tensor};

/// `max(x, 0)`, elementwise.
///
/// # Shapes
///
/// Any shape to the same.
///
/// # Errors
///
/// A `Bool` tensor.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let y = ReLU::new().call(Tensor::from([-1.0_f32, 2.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 2.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct ReLU {
    marker: Marker,
}

impl ReLU {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for ReLU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for ReLU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.relu()
    }
}
