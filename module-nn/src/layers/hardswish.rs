use module_core::{Forward, Marker, Module, Result, Tensor};

/// `x · min(max(x + 3, 0), 6) / 6`, elementwise.
///
/// Source: Howard et al., *Searching for MobileNetV3* (2019).
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
/// let y = Hardswish::new().call(Tensor::from([-4.0_f32, 1.5, 4.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 1.125, 4.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Hardswish {
    marker: Marker,
}

impl Hardswish {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for Hardswish {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Hardswish {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.hardswish()
    }
}
