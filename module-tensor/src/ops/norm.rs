//! `norm` and `logsumexp`.

use super::fused::gradient;
use crate::backend::{ReduceOp, Saved};
use crate::layout::Dims;
use crate::tensor::{Backward, Function, Gradients, Tensor, no_grad, one};
use crate::{Error, Result, Shape};

impl Tensor {
    /// The `p`-norm of the vectors over `dims` (`..` for all) of a floating-point tensor.
    ///
    /// ```text
    /// p = ∞: max |xᵢ|     p = -∞: min |xᵢ|     p = 0: how many xᵢ ≠ 0     else: (Σ |xᵢ|ᵖ)^(1/p)
    /// ```
    ///
    /// Where the norm is not differentiable, the gradient is 0, as in PyTorch; equal extreme elements share the gradient.
    ///
    /// # Errors
    ///
    /// Those of [`sum`](Self::sum), a dtype that is not floating-point, a `p` that is NaN, an infinite `p` without
    /// elements.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([3.0_f32, -4.0]);
    /// assert_eq!(x.norm(2.0, ..)?.item::<f32>()?, 5.0);
    /// assert_eq!(x.norm(1.0, ..)?.item::<f32>()?, 7.0);
    /// assert_eq!(x.norm(f64::INFINITY, ..)?.item::<f32>()?, 4.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn norm(&self, p: f64, dims: impl Into<Dims>) -> Result<Self> {
        self.norm_over(p, &dims.into(), false)
    }

    /// [`norm`](Self::norm), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`norm`](Self::norm).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.norm_keepdim(2.0, 1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn norm_keepdim(&self, p: f64, dims: impl Into<Dims>) -> Result<Self> {
        self.norm_over(p, &dims.into(), true)
    }

    pub(super) fn norm_over(&self, p: f64, dims: &Dims, keepdim: bool) -> Result<Self> {
        const NAME: &str = "norm";
        self.check_floating(NAME)?;
        if p.is_nan() {
            return Err(Error::argument(NAME, "p", p, "is not a number"));
        }
        let dims = self.shape().dims(NAME, dims)?;
        let wide = self.widened()?;
        if p.is_infinite() {
            let size = wide.abs()?;
            let (name, op) = match p > 0.0 {
                true => ("amax", ReduceOp::Max),
                false => ("amin", ReduceOp::Min),
            };
            let out = size.extreme_over(name, op, &Dims::from(&dims), keepdim)?;
            return out.to_dtype(self.dtype());
        }
        let x = wide.detach();
        let sum = |x: Self| x.sum_over(&Dims::from(&dims), keepdim);
        let out = if p == 0.0 {
            sum(x.ne(0.0)?.to_dtype(x.dtype())?)?
        } else if p == 1.0 {
            sum(x.abs()?)?
        } else if p == 2.0 {
            x.add_squares(&dims, keepdim)?.sqrt()?
        } else {
            sum(x.abs()?.pow(p)?)?.pow(1.0 / p)?
        };
        let kept = self.shape().reduced(&dims, true);
        out.record([&wide], |y| Norm {
            x: wide.clone(),
            y: y.clone(),
            p,
            kept,
        })
        .to_dtype(self.dtype())
    }

    /// `Σ x²` over `dims` (`..` for all) of a floating-point tensor, without a tensor of squares.
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
    /// assert_eq!(x.sum_squares(1)?.to_vec::<f32>()?, [5.0, 25.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sum_squares(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.sum_squares_over(&dims.into(), false)
    }

    /// [`sum_squares`](Self::sum_squares), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`sum_squares`](Self::sum_squares).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.sum_squares_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sum_squares_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.sum_squares_over(&dims.into(), true)
    }

    fn sum_squares_over(&self, dims: &Dims, keepdim: bool) -> Result<Self> {
        const NAME: &str = "sum_squares";
        self.check_floating(NAME)?;
        let dims = self.shape().dims(NAME, dims)?;
        let wide = self.widened()?;
        let out = wide.detach().add_squares(&dims, keepdim)?;
        let kept = self.shape().reduced(&dims, true);
        let x = wide.clone();
        out.record([&wide], |_| SumSquares { x, kept })
            .to_dtype(self.dtype())
    }

    /// `Σ x²`, untracked.
    fn add_squares(&self, dims: &[usize], keepdim: bool) -> Result<Self> {
        if dims.is_empty() {
            return self.mul(self);
        }
        let backend = self.device().backend();
        let storage = backend.sum_squares(self.plain("norm")?, dims)?;
        Ok(Self::fresh(storage, self.shape().reduced(dims, keepdim)))
    }

    /// `ln Σᵢ e^xᵢ` over `dims` (`..` for all) of a floating-point tensor, without overflow.
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
    /// let x = Tensor::from([1000.0_f64, 1000.0]);
    /// assert_eq!(x.logsumexp(0)?.item::<f64>()?, 1000.0 + std::f64::consts::LN_2);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logsumexp(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.logsumexp_over(&dims.into(), false)
    }

    /// [`logsumexp`](Self::logsumexp), with the reduced dimensions kept at size 1.
    ///
    /// # Errors
    ///
    /// Those of [`logsumexp`](Self::logsumexp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// assert_eq!(x.logsumexp_keepdim(1)?.shape().to_string(), "[2, 1]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logsumexp_keepdim(&self, dims: impl Into<Dims>) -> Result<Self> {
        self.logsumexp_over(&dims.into(), true)
    }

    pub(super) fn logsumexp_over(&self, dims: &Dims, keepdim: bool) -> Result<Self> {
        const NAME: &str = "logsumexp";
        self.check_floating(NAME)?;
        let dims = self.shape().dims(NAME, dims)?;
        // The dimensions are moved together and merged.
        let first = dims.first().copied().unwrap_or(0);
        let together = dims.iter().enumerate().all(|(i, &dim)| dim == first + i);
        let lead = if together {
            first
        } else {
            self.rank() - dims.len()
        };
        let x = if together {
            self.clone()
        } else {
            let kept = (0..self.rank()).filter(|dim| !dims.contains(dim));
            let order: Vec<isize> = kept
                .chain(dims.iter().copied())
                .map(|dim| dim as isize)
                .collect();
            self.permute(order)?
        };
        let (before, rest) = x.shape().split_at(lead);
        let (over, after) = rest.split_at(dims.len());
        let [before, size, after] = [before, over, after].map(|sizes| sizes.iter().product());
        let x = x.reshape_to(&[before, size, after].into())?;
        let (x, out, saved) = match x.device().backend().softmax_family() {
            Some(kernels) => {
                let (out, saved) = kernels.logsumexp(x.operand(), 1)?;
                (x, Self::fresh(out, [before, 1, after].into()), saved)
            }
            None => {
                let x = x.widened()?;
                let out = no_grad(|| log_of_sum(&x))?;
                (x, out, Saved::default())
            }
        };
        out.record([&x], |y| LogSumExp {
            x: x.clone(),
            y: y.clone(),
            saved,
        })
        .reshape_to(&self.shape().reduced(&dims, keepdim))?
        .to_dtype(self.dtype())
    }
}

/// `ln Σ eˣ` along dimension 1, which keeps size 1, composed of other operations.
pub(super) fn log_of_sum(x: &Tensor) -> Result<Tensor> {
    if x.shape().get(1) == Some(&0) {
        return x.sum_keepdim(1)?.log();
    }
    // Differences to an infinity would be NaN.
    let most = x.amax_keepdim(1)?;
    let most = most.masked_fill(&most.isinf()?, 0.0)?;
    x.sub(&most)?.exp()?.sum_keepdim(1)?.log()?.add(&most)
}

struct SumSquares {
    x: Tensor,
    kept: Shape,
}

impl Function for SumSquares {
    fn name(&self) -> &'static str {
        "sum_squares"
    }

    /// `2 x`
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let slope = ctx.grad().mul(2.0)?.reshape_to(&self.kept)?;
        one(self.x.mul(&slope)?)
    }
}

struct Norm {
    x: Tensor,
    y: Tensor,
    p: f64,
    kept: Shape,
}

impl Function for Norm {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { x, p, kept, .. } = self;
        let grad = ctx.grad().reshape_to(kept)?;
        if *p == 0.0 {
            // A count has no gradient in PyTorch, rather than a zero one.
            return Ok([None].into_iter().collect());
        }
        if *p == 1.0 {
            return one(grad.mul(&x.sign()?)?);
        }
        let y = ctx.output(&self.y).reshape_to(kept)?;
        // A power of 0 may be infinite. Where the derivative is 0 by definition, it is computed at 1, so that second
        // derivatives do not multiply infinities by 0.
        let safe = |x: &Tensor| x.masked_fill(&x.eq(0.0)?, 1.0);
        if *p == 2.0 {
            // Where the norm is 0, the divisor is 1 and the gradient 0, or NaN if that of the norm is infinite, as in PyTorch.
            let grad = grad.mul(&y.ne(0.0)?.to_dtype(grad.dtype())?)?;
            return one((x.div(&safe(&y)?)? * grad)?);
        }
        let power = (safe(&x.abs()?)?.pow(p - 1.0)? * x.sign()?)?;
        let share = (power * safe(&y)?.pow(1.0 - p)?)?;
        one((grad * y.eq(0.0)?.where_(0.0, share)?)?)
    }
}

struct LogSumExp {
    /// `[before, size, after]`
    x: Tensor,
    /// `[before, 1, after]`
    y: Tensor,
    saved: Saved,
}

impl LogSumExp {
    fn kernel(&self, grad: &Tensor) -> Result<Option<Tensor>> {
        let Self { x, saved, .. } = self;
        let Some(kernels) = x.device().backend().softmax_family() else {
            return Ok(None);
        };
        let slope = kernels.logsumexp_backward(grad.operand(), x.operand(), saved, 1)?;
        Ok(Some(x.like_shape(slope)))
    }

    fn formula(&self, ctx: &Backward) -> Result<Tensor> {
        let x = self.x.widened()?;
        let y = match x.dtype() == self.x.dtype() {
            true => ctx.output(&self.y),
            // Not the output, which was rounded.
            false => x.logsumexp_keepdim(1)?,
        };
        let slope = ctx.grad().widened()?.mul(&x.sub(&y)?.exp()?)?;
        slope.to_dtype(self.x.dtype())
    }
}

impl Function for LogSumExp {
    fn name(&self) -> &'static str {
        "logsumexp"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(gradient(|| self.kernel(ctx.grad()), || self.formula(ctx))?)
    }
}
