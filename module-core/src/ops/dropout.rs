//! Dropout.

use crate::Result;
use crate::rng::with_default;
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
    pub fn dropout(&self, p: f64) -> Result<Self> {
        // PyTorch returns the input before it draws.
        if p == 0.0 || (self.numel() == 0 && (0.0..=1.0).contains(&p)) {
            self.check_floating("dropout")?;
            return Ok(self.clone());
        }
        let mask = with_default(|generator| {
            let shape = self.shape().clone();
            Self::drawn("dropout", shape, self.dtype(), DropoutMask { p }, generator)
        })?;
        self.mul(&mask.to_device(&self.device())?)
    }
}
