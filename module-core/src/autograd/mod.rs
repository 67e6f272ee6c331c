//! The engine that runs gradients backwards through the graph.

mod engine;

use crate::tensor::Tensor;
use crate::{ErrorKind, Result};

/// How [`Tensor::backward_with`] treats the graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackwardOptions {
    /// Keeps the saved values, so that the graph can be run again.
    pub retain_graph: bool,
    /// Records the backward pass itself, for second derivatives; keeps the saved values too.
    pub create_graph: bool,
}

impl Tensor {
    /// Adds the gradient of this one-element tensor to every leaf that it was computed from.
    ///
    /// The values that operations saved are freed; a second pass through them is an error.
    ///
    /// # Errors
    ///
    /// More or fewer elements than one, a tensor that nothing tracks, an operation without a
    /// gradient, a graph whose saved values are freed. No leaf is changed unless all goes well.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, -2.0]).requires_grad();
    /// x.relu()?.sum(.., false)?.backward()?;
    /// assert_eq!(x.grad().unwrap().to_vec::<f32>()?, [1.0, 0.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn backward(&self) -> Result<()> {
        if self.numel() != 1 {
            return Err(ErrorKind::BackwardNonScalar {
                shape: self.shape().clone(),
            }
            .into());
        }
        self.backward_with(&self.ones_like()?, BackwardOptions::default())
    }

    /// [`backward`](Self::backward) of a tensor of any shape, from its gradient.
    ///
    /// # Errors
    ///
    /// As [`backward`](Self::backward), and a gradient of another shape, dtype or device.
    pub fn backward_with(&self, grad: &Self, options: BackwardOptions) -> Result<()> {
        self.check_same("backward", grad)?;
        if self.shape() != grad.shape() {
            return Err(ErrorKind::ShapeMismatch {
                op: "backward",
                lhs: self.shape().clone(),
                rhs: grad.shape().clone(),
                rule: "a gradient has the shape of its tensor".to_owned(),
            }
            .into());
        }
        let Some(node) = &self.node else {
            return Err(ErrorKind::BackwardUntracked.into());
        };
        engine::run(node, grad, options)
    }
}

#[cfg(test)]
mod tests;
