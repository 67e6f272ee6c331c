use module_core::{Forward, Marker, Module, Result, Tensor};

/// Softmax over the channels of each pixel.
///
/// # Shapes
///
/// `[batch, channels, height, width]`, or without the batch, to the same.
///
/// # Errors
///
/// A wrong number of dimensions, a dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let y = Softmax2d::new().call(Tensor::zeros([1, 2, 3, 3], DType::F32)?)?;
/// assert_eq!(y.to_vec::<f32>()?, [0.5; 18]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Softmax2d {
    marker: Marker,
}

impl Softmax2d {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for Softmax2d {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Softmax2d {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        if matches!(input.rank(), 3 | 4) {
            return input.softmax(-3);
        }
        let expected = "[batch, channels, height, width], with or without the batch";
        Err(input.shape().error("softmax2d", expected))
    }
}
