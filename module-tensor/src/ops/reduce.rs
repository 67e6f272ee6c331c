//! Sums, means, extremes.

use crate::backend::{ArgReduceOp, ReduceOp};
use crate::layout::Dims;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Shape};

impl Tensor {
    /// The sum over `dims` (`..` for all), which stay with size 1 if `keepdim`.
    ///
    /// Integers and truth values are summed as `I64`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or stands twice.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.sum(.., false)?.item::<f32>()?, 10.0);
    /// assert_eq!(x.sum(-1, true)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sum(&self, dims: impl Into<Dims>, keepdim: bool) -> Result<Self> {
        self.check_computed("sum")?;
        let dims = self.shape().dims("sum", &dims.into())?;
        if !self.dtype().is_floating_point() && self.dtype() != DType::I64 {
            return self.to_dtype(DType::I64)?.sum(&dims, keepdim);
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
    /// As [`sum`](Self::sum), and a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.mean(0, false)?.to_vec::<f32>()?, [2.0, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn mean(&self, dims: impl Into<Dims>, keepdim: bool) -> Result<Self> {
        self.check_floating("mean")?;
        let dims = self.shape().dims("mean", &dims.into())?;
        let count: usize = dims.iter().map(|&dim| self.shape()[dim]).product();
        // The sum may exceed half precision where the mean does not.
        self.widened()?
            .sum(&dims, keepdim)?
            .div(count as f64)?
            .to_dtype(self.dtype())
    }

    /// The variance over `dims` (`..` for all): the mean squared distance from the mean, with the
    /// number of elements less `correction` as the divisor; 1 is PyTorch's default.
    ///
    /// # Errors
    ///
    /// As [`mean`](Self::mean).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 3.0, 5.0]);
    /// assert_eq!(x.var(.., 1.0, false)?.item::<f32>()?, 4.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn var(&self, dims: impl Into<Dims>, correction: f64, keepdim: bool) -> Result<Self> {
        self.check_floating("var")?;
        let dims = self.shape().dims("var", &dims.into())?;
        let count: usize = dims.iter().map(|&dim| self.shape()[dim]).product();
        let wide = self.widened()?;
        let distance = wide.sub(&wide.mean(&dims, true)?)?;
        let divisor = (count as f64 - correction).max(0.0);
        distance
            .mul(&distance)?
            .sum(&dims, keepdim)?
            .div(divisor)?
            .to_dtype(self.dtype())
    }

    /// The standard deviation over `dims` (`..` for all): the root of [`var`](Self::var).
    ///
    /// Its slope is 0 where all elements are equal.
    ///
    /// # Errors
    ///
    /// As [`var`](Self::var).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 3.0, 5.0]);
    /// assert_eq!(x.std(.., 1.0, false)?.item::<f32>()?, 2.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn std(&self, dims: impl Into<Dims>, correction: f64, keepdim: bool) -> Result<Self> {
        self.check_floating("std")?;
        let dims = self.shape().dims("std", &dims.into())?;
        let var = self.widened()?.var(&dims, correction, keepdim)?;
        // The slope of the root of 0 is infinite, and would make NaN of slopes of 0.
        let constant = var.eq(0.0)?;
        var.masked_fill(&constant, 1.0)?
            .sqrt()?
            .masked_fill(&constant, 0.0)?
            .to_dtype(self.dtype())
    }

    /// The greatest elements along `dim`, the first where there are several, and their places as
    /// `I64`; NaN is greater than any.
    ///
    /// The gradient goes to the elements at these places, where [`amax`](Self::amax) shares it among
    /// equals.
    ///
    /// # Errors
    ///
    /// As [`argmax`](Self::argmax).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 3.0], [5.0, 4.0, 0.0]]);
    /// let (values, places) = x.max(1, false)?;
    /// assert_eq!(values.to_vec::<f32>()?, [3.0, 5.0]);
    /// assert_eq!(places.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max(&self, dim: isize, keepdim: bool) -> Result<(Self, Self)> {
        self.chosen("max", ArgReduceOp::Max, dim, keepdim)
    }

    /// The smallest elements along `dim`, the first where there are several, and their places as
    /// `I64`; NaN is smaller than any.
    ///
    /// The gradient goes to the elements at these places, where [`amin`](Self::amin) shares it among
    /// equals.
    ///
    /// # Errors
    ///
    /// As [`argmin`](Self::argmin).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (value, place) = Tensor::from([2_i64, 1, 3]).min(0, false)?;
    /// assert_eq!((value.item::<i64>()?, place.item::<i64>()?), (1, 1));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn min(&self, dim: isize, keepdim: bool) -> Result<(Self, Self)> {
        self.chosen("min", ArgReduceOp::Min, dim, keepdim)
    }

    fn chosen(
        &self,
        name: &'static str,
        op: ArgReduceOp,
        dim: isize,
        keepdim: bool,
    ) -> Result<(Self, Self)> {
        if self.dtype() == DType::Bool {
            let numbers = self.to_dtype(DType::U8)?;
            let (values, places) = numbers.chosen(name, op, dim, keepdim)?;
            return Ok((values.to_dtype(DType::Bool)?, places));
        }
        let places = self.arg_extreme(name, op, dim, true)?;
        if self.rank() == 0 {
            return Ok((self.clone(), places));
        }
        let values = self.gather(dim, &places)?;
        if keepdim {
            return Ok((values, places));
        }
        Ok((values.squeeze(dim)?, places.squeeze(dim)?))
    }

    /// The greatest element over `dims` (`..` for all); NaN if any is. Of truth values, true is the greater.
    ///
    /// Elements that share the extreme share its gradient.
    ///
    /// # Errors
    ///
    /// As [`sum`](Self::sum), and a dimension without elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.amax(.., false)?.item::<i64>()?, 4);
    /// assert_eq!(x.amax(0, false)?.to_vec::<i64>()?, [3, 4]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn amax(&self, dims: impl Into<Dims>, keepdim: bool) -> Result<Self> {
        self.extreme("amax", ReduceOp::Max, &dims.into(), keepdim)
    }

    /// The smallest element over `dims` (`..` for all); NaN if any is. Of truth values, false is the smaller.
    ///
    /// Elements that share the extreme share its gradient.
    ///
    /// # Errors
    ///
    /// As [`amax`](Self::amax).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.amin(1, true)?.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn amin(&self, dims: impl Into<Dims>, keepdim: bool) -> Result<Self> {
        self.extreme("amin", ReduceOp::Min, &dims.into(), keepdim)
    }

    fn extreme(
        &self,
        name: &'static str,
        op: ReduceOp,
        dims: &Dims,
        keepdim: bool,
    ) -> Result<Self> {
        let dims = self.shape().dims(name, dims)?;
        if dims.iter().any(|&dim| self.shape()[dim] == 0) {
            return Err(self
                .shape()
                .error(name, "at least one element in the reduced dimensions"));
        }
        if self.dtype() == DType::Bool {
            return match op {
                ReduceOp::Min => self.all(&dims, keepdim),
                _ => self.any(&dims, keepdim),
            };
        }
        let storage = self
            .device()
            .backend()
            .reduce(op, self.plain(name)?, &dims)?;
        let kept = self.shape().reduced(&dims, true);
        let out = Self::fresh(storage, self.shape().reduced(&dims, keepdim));
        Ok(out.record([self], |y| Extreme {
            name,
            x: self.detach(),
            y: y.clone(),
            dims: dims.to_vec(),
            kept,
        }))
    }

    /// The place of the greatest element along `dim`, the first if there are several, as `I64`.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or has no elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 3.0, 3.0], [5.0, 4.0, 0.0]]);
    /// assert_eq!(x.argmax(1, false)?.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argmax(&self, dim: isize, keepdim: bool) -> Result<Self> {
        self.arg_extreme("argmax", ArgReduceOp::Max, dim, keepdim)
    }

    /// The place of the smallest element along `dim`, the first if there are several, as `I64`.
    ///
    /// # Errors
    ///
    /// As [`argmax`](Self::argmax).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[2_i64, 1], [0, 4]]);
    /// assert_eq!(x.argmin(1, false)?.to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn argmin(&self, dim: isize, keepdim: bool) -> Result<Self> {
        self.arg_extreme("argmin", ArgReduceOp::Min, dim, keepdim)
    }

    fn arg_extreme(
        &self,
        name: &'static str,
        op: ArgReduceOp,
        dim: isize,
        keepdim: bool,
    ) -> Result<Self> {
        let dim = self.shape().dim(name, dim)?;
        if self.rank() == 0 {
            return Self::zeros((), (DType::I64, &self.device()));
        }
        if self.shape()[dim] == 0 {
            return Err(self
                .shape()
                .error(name, "at least one element in the reduced dimension"));
        }
        let storage = self
            .device()
            .backend()
            .arg_reduce(op, self.plain(name)?, dim)?;
        Ok(Self::fresh(storage, self.shape().reduced(&[dim], keepdim)))
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

struct Extreme {
    name: &'static str,
    x: Tensor,
    y: Tensor,
    dims: Vec<usize>,
    kept: Shape,
}

impl Function for Extreme {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        // NaN wins where there is one, and only there no element equals the extreme.
        let dtype = ctx.grad().dtype();
        let equal = self.x.eq(&self.y.reshape_to(&self.kept)?)?;
        let winners = equal
            .to_dtype(dtype)?
            .add(&self.x.ne(&self.x)?.to_dtype(dtype)?)?;
        let share = winners.div(&winners.sum(self.dims.as_slice(), true)?)?;
        one(ctx.grad().reshape_to(&self.kept)?.mul(&share)?)
    }
}
