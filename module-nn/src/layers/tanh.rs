use module_core::{Forward, Marker, Module, Result, Tensor};

/// `tanh x`, elementwise.
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
/// let y = Tanh::new().call(Tensor::from([-1000.0_f32, 0.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Tanh {
    marker: Marker,
}

impl Tanh {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for Tanh {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Tanh {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.tanh()
    }
}
