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
        // The mask has the memory order of the input, and is drawn in it: the transpose of a matrix
        // is masked as the matrix is.
        let (order, back) = self.layout().memory_order();
        let mask = with_default(|generator| {
            let shape = order.iter().map(|&dim| self.shape()[dim]).collect();
            Self::drawn("dropout", shape, self.dtype(), DropoutMask { p }, generator)
        })?;
        self.mul(&mask.permute(back)?.to_device(&self.device())?)
    }
}
