//! `sum` and `mean`.

use crate::backend::ReduceOp;
use crate::layout::Dims;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Shape};

impl Tensor {
    /// The sum over `dims` (`..` for all), which are removed; [`sum_keepdim`](Self::sum_keepdim) keeps them
    /// with size 1.
    ///
    /// Integers and booleans are summed as `I64`.
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
    /// assert_eq!(x.sum(..)?.item::<f32>()?, 10.0);
    /// assert_eq!(x.sum_keepdim(-1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sum(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.sum_over(&dims.into(), false)
    }

    /// [`sum`](Self::sum), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`sum`](Self::sum).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.sum_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sum_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.sum_over(&dims.into(), true)
    }

    pub(super) fn sum_over(&self, dims: &Dims, keepdim: bool) -> Result<Self> {
        self.check_computed("sum")?;
        let dims = self.shape().dims("sum", dims)?;
        if !self.dtype().is_floating_point() && self.dtype() != DType::I64 {
            return self
                .to_dtype(DType::I64)?
                .sum_over(&Dims::from(&dims), keepdim);
        }
        if dims.is_empty() {
            return Ok(self.alias());
        }
        let storage = self
            .device()
            .backend()
            .reduce(ReduceOp::Sum, self.plain("sum")?, &dims)?;
        let kept = self.shape().reduced(&dims, true);
        let out = Self::fresh(storage, self.shape().reduced(&dims, keepdim));
        Ok(out.record([self], |_| Sum {
            from: self.shape().clone(),
            kept,
        }))
    }

    /// The mean over `dims` (`..` for all) of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// Those of [`sum`](Self::sum), and a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.mean(0)?.to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn mean(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.mean_over(&dims.into(), false)
    }

    /// [`mean`](Self::mean), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`mean`](Self::mean).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.mean_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn mean_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.mean_over(&dims.into(), true)
    }

    pub(super) fn mean_over(&self, dims: &Dims, keepdim: bool) -> Result<Self> {
        self.check_floating("mean")?;
        let dims = self.shape().dims("mean", dims)?;
        let count: usize = dims.iter().map(|&dim| self.shape()[dim]).product();
        // The sum may overflow half precision even if the mean does not.
        self.widened()?
            .sum_over(&Dims::from(&dims), keepdim)?
            .div(count as f64)?
            .to_dtype(self.dtype())
    }

    pub(super) fn check_floating(&self, op: &'static str) -> Result<()> {
        self.storage.check_plain(op)?;
        if self.dtype().is_floating_point() {
            return Ok(());
        }
        let needs = "a floating-point tensor; cast with `to_dtype`";
        Err(self.dtype().error(op, needs))
    }
}

struct Sum {
    from: Shape,
    kept: Shape,
}

impl Function for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().reshape_to(&self.kept)?.expand(&self.from)?)
    }
}
