use module_core::{Forward, Marker, Module, Result, Tensor};

/// `min(max(x, 0), 6)`, elementwise.
///
/// Source: Howard et al., *MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
/// Applications* (2017).
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
/// let y = ReLU6::new().call(Tensor::from([-2.0_f32, 0.5, 8.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.5, 6.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct ReLU6 {
    marker: Marker,
}

impl ReLU6 {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for ReLU6 {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for ReLU6 {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.relu6()
    }
}
