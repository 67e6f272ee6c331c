use module_core::{Forward, Marker, Module, Result, Tensor};

/// `ln(1/(1 + e⁻ˣ))`, elementwise, without overflow.
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
/// let y = LogSigmoid::new().call(Tensor::from([-1000.0_f32, 1000.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-1000.0, 0.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct LogSigmoid {
    marker: Marker,
}

impl LogSigmoid {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for LogSigmoid {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for LogSigmoid {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.log_sigmoid()
    }
}
