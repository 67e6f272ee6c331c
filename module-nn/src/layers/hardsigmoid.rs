use module_core::{Forward, Marker, Module, Result, Tensor};

/// `min(max(x + 3, 0), 6) / 6`, elementwise: a piecewise linear sigmoid.
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
/// let y = Hardsigmoid::new().call(Tensor::from([-4.0_f32, 1.5, 4.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.75, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Hardsigmoid {
    marker: Marker,
}

impl Hardsigmoid {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for Hardsigmoid {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Hardsigmoid {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.hardsigmoid()
    }
}
