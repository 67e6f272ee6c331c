//! `var` and `std`.

use crate::backend::ReduceOp;
use crate::layout::Dims;
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled, one};
use crate::{DType, Result, Shape};

impl Tensor {
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

    fn var_over(&self, dims: &Dims, correction: f64, keepdim: bool) -> Result<Self> {
        let deviations = Deviations::of("var", self, dims, correction)?;
        let (var, scale) = deviations.scaled_var(keepdim)?;
        let var = match scale {
            Some(scale) => var.mul(&scale)?.mul(&scale)?,
            None => var,
        };
        deviations.finish(var, |_| deviations.clone())
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

    fn std_over(&self, dims: &Dims, correction: f64, keepdim: bool) -> Result<Self> {
        let deviations = Deviations::of("std", self, dims, correction)?;
        let (var, scale) = deviations.scaled_var(keepdim)?;
        let std = match scale {
            Some(scale) => var.sqrt()?.mul(&scale)?,
            None => var.sqrt()?,
        };
        deviations.finish(std, |y| Std {
            deviations: deviations.clone(),
            y: y.clone(),
        })
    }
}

/// The power of two by which deviations of `F32` are divided where their squares would overflow, and multiplied where these would
/// be 0, and the deviations beyond which they are.
const SCALE: f64 = (1_u128 << 80) as f64;
const LARGE: f64 = (1_u64 << 40) as f64;

/// The deviations of elements from their mean; the gradient of their variance.
#[derive(Clone)]
struct Deviations {
    /// Not in half precision.
    x: Tensor,
    dtype: DType,
    dims: Vec<usize>,
    /// The shape with the reduced dimensions kept.
    kept: Shape,
    /// What sums of squares are divided by.
    divisor: f64,
    /// Untracked, and not outside the least and the greatest element, where rounding may lead: elements that are equal do
    /// not deviate.
    mean: Tensor,
    /// The greatest distance of an element from the mean.
    most: Tensor,
}

impl Deviations {
    fn of(op: &'static str, x: &Tensor, dims: &Dims, correction: f64) -> Result<Self> {
        x.check_floating(op)?;
        let dims = x.shape().dims(op, dims)?;
        let count: usize = dims.iter().map(|&dim| x.shape()[dim]).product();
        let (dtype, kept) = (x.dtype(), x.shape().reduced(&dims, true));
        let x = x.widened()?;
        let (mean, most) = mean_and_distance(&x.detach(), &dims)?;
        Ok(Self {
            x,
            dtype,
            kept,
            dims: dims.to_vec(),
            divisor: (count as f64 - correction).max(0.0),
            mean,
            most,
        })
    }

    /// The distances of the elements from the mean, tracked if the elements are.
    fn deviations(&self, x: &Tensor) -> Result<Tensor> {
        if !(x.requires_grad() && is_grad_enabled()) {
            return x.sub(&self.mean);
        }
        let mean = x.mean_keepdim(&self.dims)?;
        let rounding = self.mean.sub(mean.detach())?;
        x.sub(&mean.add(&rounding)?)
    }

    /// The variance of deviations that are divided by a scale, if there is one, which changes no bit of other deviations; untracked.
    fn scaled_var(&self, keepdim: bool) -> Result<(Tensor, Option<Tensor>)> {
        let mut deviations = self.deviations(&self.x.detach())?;
        let scale = self.scale()?;
        if let Some(scale) = &scale {
            deviations = deviations.div(scale)?;
        }
        let reduced = |x: Tensor| match keepdim {
            true => Ok(x),
            false => x.reshape_to(&self.kept.reduced(&self.dims, false)),
        };
        let var = deviations.sum_squares_keepdim(&self.dims)?;
        let var = reduced(var.div(self.divisor)?)?;
        Ok((var, scale.map(reduced).transpose()?))
    }

    /// The scale of the deviations of each variance, 1 for most.
    fn scale(&self) -> Result<Option<Tensor>> {
        if self.x.dtype() != DType::F32 || self.x.numel() == 0 {
            return Ok(None);
        }
        let ones = Tensor::ones_like(&self.most)?;
        let scale = ones.masked_fill(&self.most.lt(1.0 / LARGE)?, 1.0 / SCALE)?;
        scale.masked_fill(&self.most.gt(LARGE)?, SCALE).map(Some)
    }

    /// The result in the dtype of the input, with its gradient.
    fn finish<F: Function>(
        &self,
        out: Tensor,
        gradient: impl FnOnce(&Tensor) -> F,
    ) -> Result<Tensor> {
        out.record([&self.x], gradient).to_dtype(self.dtype)
    }
}

/// The mean, between the least and the greatest element unless its sum overflows, and the greatest distance of an element from it.
fn mean_and_distance(x: &Tensor, dims: &[usize]) -> Result<(Tensor, Tensor)> {
    let mean = x.mean_keepdim(dims)?;
    if x.numel() == 0 {
        return Ok((mean.clone(), mean));
    }
    let dims = Dims::from(dims);
    let greatest = x.extreme_over("amax", ReduceOp::Max, &dims, true)?;
    let least = x.extreme_over("amin", ReduceOp::Min, &dims, true)?;
    let between = mean.maximum(&least)?.minimum(&greatest)?;
    let mean = mean.isfinite()?.where_(&between, &mean)?;
    let most = greatest.sub(&mean)?.maximum(&mean.sub(&least)?)?;
    Ok((mean, most))
}

impl Function for Deviations {
    fn name(&self) -> &'static str {
        "var"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad().reshape_to(&self.kept)?;
        let factor = grad.mul(2.0 / self.divisor)?;
        one(self.deviations(&self.x)?.mul(&factor)?)
    }
}

/// The gradient of the standard deviation.
struct Std {
    deviations: Deviations,
    y: Tensor,
}

impl Function for Std {
    fn name(&self) -> &'static str {
        "std"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Deviations {
            x, kept, divisor, ..
        } = &self.deviations;
        let grad = ctx.grad().reshape_to(kept)?;
        let y = ctx.output(&self.y).reshape_to(kept)?;
        // Where all elements are equal, the derivative of the square root is infinite: it is computed at 1, so that second
        // derivatives do not multiply infinities by 0.
        let is_constant = y.eq(0.0)?;
        let shares = self
            .deviations
            .deviations(x)?
            .div(&y.masked_fill(&is_constant, 1.0)?)?;
        let factor = grad.masked_fill(&is_constant, 0.0)?.div(*divisor)?;
        one(shares.mul(&factor)?)
    }
}
