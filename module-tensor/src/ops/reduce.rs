//! `sum`, `mean`, `var` and `std`.

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
            return Ok(self.clone());
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

    /// The variance over `dims` (`..` for all): the sum of squared deviations from the mean, divided by the number of
    /// elements minus `correction`; 1 is PyTorch's default.
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
    /// let x = Tensor::from([1.0_f32, 3.0, 5.0]);
    /// assert_eq!(x.var(.., 1.0)?.item::<f32>()?, 4.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn var(&self, dims: impl Into<Dims>, correction: f64) -> Result<Self> {
        self.var_over(&dims.into(), correction, false)
    }

    /// [`var`](Self::var), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`var`](Self::var).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.var_keepdim(1, 1.0)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn var_keepdim(&self, dims: impl Into<Dims>, correction: f64) -> Result<Self> {
        self.var_over(&dims.into(), correction, true)
    }

    pub(super) fn var_over(&self, dims: &Dims, correction: f64, keepdim: bool) -> Result<Self> {
        self.check_floating("var")?;
        let dims = self.shape().dims("var", dims)?;
        let count: usize = dims.iter().map(|&dim| self.shape()[dim]).product();
        let wide = self.widened()?;
        let distance = wide.sub(&wide.mean_keepdim(&dims)?)?;
        let divisor = (count as f64 - correction).max(0.0);
        distance
            .mul(&distance)?
            .sum_over(&Dims::from(&dims), keepdim)?
            .div(divisor)?
            .to_dtype(self.dtype())
    }

    /// The standard deviation over `dims` (`..` for all): the square root of [`var`](Self::var).
    ///
    /// Its gradient is 0 where all elements are equal.
    ///
    /// # Errors
    ///
    /// Those of [`var`](Self::var).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 3.0, 5.0]);
    /// assert_eq!(x.std(.., 1.0)?.item::<f32>()?, 2.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn std(&self, dims: impl Into<Dims>, correction: f64) -> Result<Self> {
        self.std_over(&dims.into(), correction, false)
    }

    /// [`std`](Self::std), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`std`](Self::std).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.std_keepdim(1, 1.0)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn std_keepdim(&self, dims: impl Into<Dims>, correction: f64) -> Result<Self> {
        self.std_over(&dims.into(), correction, true)
    }

    pub(super) fn std_over(&self, dims: &Dims, correction: f64, keepdim: bool) -> Result<Self> {
        self.check_floating("std")?;
        let dims = self.shape().dims("std", dims)?;
        let var = self
            .widened()?
            .var_over(&Dims::from(&dims), correction, keepdim)?;
        // The derivative of the square root at 0 is infinite, and would turn zero gradients into NaN.
        let constant = var.eq(0.0)?;
        var.masked_fill(&constant, 1.0)?
            .sqrt()?
            .masked_fill(&constant, 0.0)?
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
