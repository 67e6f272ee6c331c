use crate::{Forward, Module, Result, Tensor};

/// Returns its input: a placeholder for an absent module.
///
/// It has no state and no keys, so a network with an `Identity` in some position has the keys of a network without that
/// position.
///
/// # Shapes
///
/// Any shape to the same.
///
/// # Example
///
/// ```
/// use module_core::{Call, Identity, Tensor};
///
/// let x = Tensor::from([1.0_f32, 2.0]);
/// assert_eq!(Identity::new().call(x)?.to_vec::<f32>()?, [1.0, 2.0]);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Identity {
    marker: crate::Marker,
}

impl Identity {
    /// The identity.
    pub const fn new() -> Self {
        Self {
            marker: crate::Marker::new(),
        }
    }
}

impl Default for Identity {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Identity {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        Ok(input)
    }
}
