//! `Tensor::backward` and its variants.

use super::{BackwardOptions, engine};
use crate::tensor::{Edge, Tensor};
use crate::{AutogradError, Result, ShapeError};

impl Tensor {
    /// Adds the gradient of this one-element tensor to every leaf that it was computed from.
    ///
    /// The values that operations saved are freed; a second pass through them is an error.
    ///
    /// # Errors
    ///
    /// More or fewer elements than one, a tensor that nothing tracks, an operation without a
    /// gradient, a graph whose saved values are freed. On an error no leaf is changed, except those with
    /// post-accumulate hooks, whose gradients are added during the pass.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, -2.0]).with_grad()?;
    /// x.relu()?.sum(..)?.backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [1.0, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn backward(&self) -> Result<()> {
        self.backward_with(&self.unit_gradient()?, BackwardOptions::default())
    }

    /// The gradient that a one-element tensor starts with.
    pub(super) fn unit_gradient(&self) -> Result<Self> {
        if self.numel() != 1 {
            return Err(AutogradError::NonScalar {
                shape: self.shape().clone(),
            }
            .into());
        }
        self.ones_like()
    }

    /// [`backward`](Self::backward) of a tensor of any shape, from its gradient.
    ///
    /// # Errors
    ///
    /// As [`backward`](Self::backward), and a gradient of another shape, dtype or device.
    pub fn backward_with(&self, grad: &Self, options: BackwardOptions) -> Result<()> {
        engine::backward(self.root(grad)?, grad, options)
    }

    /// Where a gradient of this tensor starts from, if it fits.
    pub(super) fn root(&self, grad: &Self) -> Result<&Edge> {
        self.check_same("backward", grad)?;
        if self.shape() != grad.shape() {
            return Err(ShapeError::Mismatch {
                op: "backward",
                lhs: self.shape().clone(),
                rhs: grad.shape().clone(),
                rule: "a gradient has the shape of its tensor".to_owned(),
            }
            .into());
        }
        Ok(self.edge.as_ref().ok_or(AutogradError::BackwardUntracked)?)
    }
}
