use module_core::{Forward, Marker, Module, Result, Tensor};

/// `x tanh(ln(1 + eˣ))`, elementwise.
///
/// Source: Misra, *Mish: A Self Regularized Non-Monotonic Neural Activation Function* (2019).
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
/// let y = Mish::new().call(Tensor::from([0.0_f32, 100.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 100.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Mish {
    marker: Marker,
}

impl Mish {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for Mish {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Mish {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.mish()
    }
}
