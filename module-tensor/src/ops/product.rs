//! `prod`.

use super::AutocastPolicy;
use crate::backend::ReduceOp;
use crate::layout::Dims;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Shape};

impl Tensor {
    /// The product over `dims` (`..` for all), which are removed ([`prod_keepdim`](Self::prod_keepdim) keeps
    /// them with size 1); 1 if there are no elements.
    ///
    /// Integers and booleans are multiplied as `I64`. The gradient is exact even where elements are 0.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or occurs twice.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.prod(1)?.to_vec::<f32>()?, [2.0, 12.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn prod(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.prod_over(&dims.into(), false)
    }

    /// [`prod`](Self::prod), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`prod`](Self::prod).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.prod_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn prod_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.prod_over(&dims.into(), true)
    }

    pub(super) fn prod_over(&self, dims: &Dims, keepdim: bool) -> Result<Self> {
        if let Some(out) =
            AutocastPolicy::Float32.apply([self], [], |[x], []| x.prod_over(dims, keepdim))
        {
            return out;
        }
        self.check_computed("prod")?;
        let dims = self.shape().dims("prod", dims)?;
        if !self.dtype().is_floating_point() && self.dtype() != DType::I64 {
            return self
                .to_dtype(DType::I64)?
                .prod_over(&Dims::from(&dims), keepdim);
        }
        if dims.is_empty() {
            return Ok(self.alias());
        }
        let backend = self.device().backend();
        let storage = backend.reduce(ReduceOp::Prod, self.plain("prod")?, &dims)?;
        let out = Self::fresh(storage, self.shape().reduced(&dims, keepdim));
        Ok(out.record([self], |y| Prod {
            x: self.clone(),
            y: y.clone(),
            dims: dims.to_vec(),
            kept: self.shape().reduced(&dims, true),
        }))
    }

    /// For each element the product of the others over `dims`, without a division.
    fn product_of_others(&self, dims: &[usize]) -> Result<Self> {
        let kept = (0..self.rank()).filter(|dim| !dims.contains(dim));
        let order: Vec<isize> = kept
            .chain(dims.iter().copied())
            .map(|d| d as isize)
            .collect();
        let mut back = vec![0; order.len()];
        for (i, &dim) in order.iter().enumerate() {
            back[dim as usize] = i as isize;
        }
        let turned = self.permute(order)?;
        let width: usize = dims.iter().map(|&dim| self.shape()[dim]).product();
        let rows = turned.reshape_to(&[self.numel() / width.max(1), width].into())?;
        let (before, after) = (rows.products(width, false)?, rows.products(width, true)?);
        before
            .mul(&after)?
            .reshape_to(turned.shape())?
            .permute(back)
    }

    /// For each element of rows, the product of those before it, or after it, in as many steps as `width` has binary
    /// digits.
    fn products(&self, width: usize, after: bool) -> Result<Self> {
        let shifted = |x: &Self, by: usize| {
            let fill = Self::ones([x.shape()[0], by], (x.dtype(), &x.device()))?;
            if after {
                Self::cat(&[&x.narrow(1, by..width)?, &fill], 1)
            } else {
                Self::cat(&[&fill, &x.narrow(1, 0..width - by)?], 1)
            }
        };
        let (mut out, mut by) = (shifted(self, 1)?, 1);
        while by < width {
            out = out.mul(&shifted(&out, by)?)?;
            by *= 2;
        }
        Ok(out)
    }
}

struct Prod {
    x: Tensor,
    y: Tensor,
    dims: Vec<usize>,
    kept: Shape,
}

impl Function for Prod {
    fn name(&self) -> &'static str {
        "prod"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (x, grad) = (self.x.widened()?, ctx.grad().widened()?);
        let grad = grad.reshape_to(&self.kept)?;
        let zeros = x.eq(0.0)?.any(..)?.item::<bool>()?;
        let out = if zeros {
            grad.mul(&x.product_of_others(&self.dims)?)?
        } else {
            let y = ctx.output(&self.y).reshape_to(&self.kept)?.widened()?;
            grad.mul(&y)?.div(&x)?
        };
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}
