//! Dropout.

use crate::Result;
use crate::tensor::{DropoutMask, Tensor};

impl Tensor {
    /// Zeroes each element with probability `p` and scales the rest by `1/(1 - p)`, drawing from
    /// the default generator the mask that PyTorch draws.
    ///
    /// Nothing is drawn for `p = 0` and `p = 1`.
    ///
    /// # Errors
    ///
    /// A probability outside `[0, 1]`, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Tensor, fork_rng};
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0]);
    /// let y = fork_rng(0, || x.dropout(0.5))?;
    /// assert!(y.to_vec::<f32>()?.iter().zip(1..).all(|(&y, i)| y == 0.0 || y == 2.0 * i as f32));
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn dropout(&self, p: f64) -> Result<Self> {
        // PyTorch returns the input before it draws.
        if p == 0.0 || (self.numel() == 0 && (0.0..=1.0).contains(&p)) {
            self.check_floating("dropout")?;
            return Ok(self.clone());
        }
        self.mul(&self.drawn_like("dropout", DropoutMask { p })?)
    }
}
