//! Running sums.

use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result};

impl Tensor {
    /// `outᵢ = Σ xⱼ for j ≤ i` along `dim`.
    ///
    /// Integers and truth values are summed as `I64`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.cumsum(1)?.to_vec::<i64>()?, [1, 3, 6, 4, 9, 15]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn cumsum(&self, dim: isize) -> Result<Self> {
        self.running_sum(self.shape().dim("cumsum", dim)?, false)
    }

    fn running_sum(&self, dim: usize, reverse: bool) -> Result<Self> {
        if !self.dtype().is_floating_point() && self.dtype() != DType::I64 {
            return self.to_dtype(DType::I64)?.running_sum(dim, reverse);
        }
        if self.rank() == 0 {
            return Ok(self.clone());
        }
        let storage = self
            .device()
            .backend()
            .cumsum(self.operand(), dim, reverse)?;
        Ok(self
            .like_shape(storage)
            .record([self], |_| CumSum { dim, reverse }))
    }
}

struct CumSum {
    dim: usize,
    reverse: bool,
}

impl Function for CumSum {
    fn name(&self) -> &'static str {
        "cumsum"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        // An element is part of every sum from its own place on.
        one(ctx.grad().running_sum(self.dim, !self.reverse)?)
    }
}
