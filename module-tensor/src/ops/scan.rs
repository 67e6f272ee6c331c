//! `cumsum` and `cumprod`.

use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Shape};

impl Tensor {
    /// `outᵢ = Σ xⱼ for j ≤ i` along `dim`.
    ///
    /// Integers and booleans are summed as `I64`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]);
    /// assert_eq!(x.cumsum(1)?.to_vec::<i64>()?, [1, 3, 6, 4, 9, 15]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn cumsum(&self, dim: isize) -> Result<Self> {
        self.running_sum(self.shape().dim("cumsum", dim)?, false)
    }

    /// `outᵢ = Π xⱼ for j ≤ i` along `dim`.
    ///
    /// Integers and booleans are multiplied as `I64`. The gradient is exact even where elements are 0.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1_i64, 2, 3, 4]);
    /// assert_eq!(x.cumprod(0)?.to_vec::<i64>()?, [1, 2, 6, 24]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn cumprod(&self, dim: isize) -> Result<Self> {
        self.check_computed("cumprod")?;
        let dim = self.shape().dim("cumprod", dim)?;
        if !self.dtype().is_floating_point() && self.dtype() != DType::I64 {
            return self.to_dtype(DType::I64)?.cumprod(dim as isize);
        }
        if self.rank() == 0 {
            return Ok(self.alias());
        }
        let storage = self.device().backend().cumprod(self.operand(), dim)?;
        Ok(self.like_shape(storage).record([self], |y| CumProd {
            x: self.clone(),
            y: y.clone(),
            dim,
        }))
    }

    /// Shifts the elements by `by` along `dim`, backwards if `back`, and fills the rest with `fill`.
    fn shift(&self, dim: usize, by: usize, back: bool, fill: f64) -> Result<Self> {
        let (signed_dim, size) = (dim as isize, self.shape()[dim]);
        let by = by.min(size);
        let sizes = self.shape().iter().enumerate();
        let shape: Shape = sizes.map(|(d, &s)| if d == dim { by } else { s }).collect();
        let fill = Self::full(shape, fill, (self.dtype(), &self.device()))?;
        if back {
            Self::cat(&[&self.narrow(signed_dim, by..size)?, &fill], signed_dim)
        } else {
            Self::cat(
                &[&fill, &self.narrow(signed_dim, 0..size - by)?],
                signed_dim,
            )
        }
    }

    fn running_sum(&self, dim: usize, reverse: bool) -> Result<Self> {
        self.check_computed("cumsum")?;
        if !self.dtype().is_floating_point() && self.dtype() != DType::I64 {
            return self.to_dtype(DType::I64)?.running_sum(dim, reverse);
        }
        if self.rank() == 0 {
            return Ok(self.alias());
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
        // An element is part of its own sum and of all sums after it.
        one(ctx.grad().running_sum(self.dim, !self.reverse)?)
    }
}

struct CumProd {
    x: Tensor,
    y: Tensor,
    dim: usize,
}

impl Function for CumProd {
    fn name(&self) -> &'static str {
        "cumprod"
    }

    /// The gradient of `xₖ` is `Σ gᵢ Π xⱼ` over `i ≥ k` and the `j ≤ i` other than `k`.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        if self.x.shape()[self.dim] == 1 {
            return one(ctx.grad().clone());
        }
        let (x, grad, dim) = (self.x.widened()?, ctx.grad().widened()?, self.dim);
        let out = if x.eq(0.0)?.any(..)?.item::<bool>()? {
            // Without a division: the product before `k` times `sₖ = gₖ + xₖ₊₁ sₖ₊₁`, in as many steps as the size has
            // binary digits.
            let (mut sum, mut factor) = (grad, x.shift(dim, 1, true, 0.0)?);
            let mut by = 1;
            while by < x.shape()[dim] {
                sum = sum.add(&factor.mul(&sum.shift(dim, by, true, 0.0)?)?)?;
                factor = factor.mul(&factor.shift(dim, by, true, 0.0)?)?;
                by *= 2;
            }
            let before = x.shift(dim, 1, false, 1.0)?.cumprod(dim as isize)?;
            sum.mul(&before)?
        } else {
            let y = ctx.output(&self.y).widened()?;
            grad.mul(&y)?.running_sum(dim, true)?.div(&x)?
        };
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}
