use module_core::{Forward, Marker, Module, Result, Tensor};

/// `λ (max(x, 0) + min(0, α (eˣ - 1)))`, elementwise, with `λ = 1.0507…` and `α = 1.6732…`, which preserve mean and
/// variance from layer to layer.
///
/// Source: Klambauer, Unterthiner, Mayr and Hochreiter, *Self-Normalizing Neural Networks* (2017).
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
/// let y = SELU::new().call(Tensor::from([0.0_f64, 1.0]))?;
/// assert_eq!(y.to_vec::<f64>()?, [0.0, 1.0507009873554805]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct SELU {
    marker: Marker,
}

impl SELU {
    /// The activation.
    pub const fn new() -> Self {
        Self {
            marker: Marker::new(),
        }
    }
}

impl Default for SELU {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for SELU {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.selu()
    }
}
