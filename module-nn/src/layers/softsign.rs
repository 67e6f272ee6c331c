use module_core::{Forward, Marker, Module, Result, Tensor};

/// `x/(1 + |x|)`, elementwise.
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
/// let y = Softsign::new().call(Tensor::from([-1.0_f32, 3.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-0.5, 0.75]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Softsign {
    marker: Marker,
}

impl Softsign {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for Softsign {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Softsign {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.softsign()
    }
}
