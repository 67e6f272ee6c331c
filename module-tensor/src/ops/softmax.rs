//! Softmax and its logarithm.

use super::fused::gradient;
use crate::Result;
use crate::backend::SoftmaxOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

impl Tensor {
    /// `exᵢ / Σⱼ exⱼ` along `dim`, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[0.0_f32, 0.0], [1000.0, 0.0]]);
    /// assert_eq!(x.softmax(-1)?.to_vec::<f32>()?, [0.5, 0.5, 1.0, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn softmax(&self, dim: isize) -> Result<Self> {
        let (out, dim) = self.run_softmax("softmax", SoftmaxOp::Softmax, dim)?;
        Ok(out.record([self], |y| Softmax { y: y.clone(), dim }))
    }

    /// `xᵢ - ln Σⱼ exⱼ` along `dim`, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// Those of [`softmax`](Self::softmax).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 0.0]);
    /// assert_eq!(x.log_softmax(0)?.to_vec::<f32>()?, [-2.0_f32.ln(), -2.0_f32.ln()]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn log_softmax(&self, dim: isize) -> Result<Self> {
        let (out, dim) = self.run_softmax("log_softmax", SoftmaxOp::LogSoftmax, dim)?;
        Ok(out.record([self], |y| LogSoftmax { y: y.clone(), dim }))
    }

    fn run_softmax(&self, name: &'static str, op: SoftmaxOp, dim: isize) -> Result<(Self, isize)> {
        self.check_floating(name)?;
        let index = self.shape().dim(name, dim)?;
        // A tensor without dimensions counts as one with a single element.
        let x = if self.rank() == 0 {
            self.detach().unsqueeze(0)?
        } else {
            self.clone()
        };
        let storage = self.device().backend().softmax(op, x.plain(name)?, index)?;
        Ok((self.like_shape(storage), dim))
    }
}

/// The gradient by its kernel, if the device has one.
fn kernel(op: SoftmaxOp, grad: &Tensor, y: &Tensor, dim: isize) -> Result<Option<Tensor>> {
    if grad.rank() == 0 {
        let (grad, y) = (grad.detach().unsqueeze(0)?, y.unsqueeze(0)?);
        let done = kernel(op, &grad, &y, 0)?;
        return done.map(|slope| slope.squeeze(0)).transpose();
    }
    let Some(kernels) = grad.device().backend().softmax_family() else {
        return Ok(None);
    };
    let index = grad.shape().dim("softmax", dim)?;
    let slope = kernels.softmax_backward(op, grad.operand(), y.operand(), index)?;
    Ok(Some(grad.like_shape(slope)))
}

struct Softmax {
    y: Tensor,
    dim: isize,
}

impl Function for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let formula = || {
            let (y, grad) = (ctx.output(&self.y).widened()?, ctx.grad().widened()?);
            let weighted = grad.mul(&y)?;
            let out = weighted.sub(&y.mul(&weighted.sum_keepdim(self.dim)?)?)?;
            out.to_dtype(ctx.grad().dtype())
        };
        let kernel = || kernel(SoftmaxOp::Softmax, ctx.grad(), &self.y, self.dim);
        one(gradient(kernel, formula)?)
    }
}

struct LogSoftmax {
    y: Tensor,
    dim: isize,
}

impl Function for LogSoftmax {
    fn name(&self) -> &'static str {
        "log_softmax"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let formula = || {
            let (y, grad) = (ctx.output(&self.y).widened()?, ctx.grad().widened()?);
            let total = grad.sum_keepdim(self.dim)?;
            let out = grad.sub(&y.exp()?.mul(&total)?)?;
            out.to_dtype(ctx.grad().dtype())
        };
        let kernel = || kernel(SoftmaxOp::LogSoftmax, ctx.grad(), &self.y, self.dim);
        one(gradient(kernel, formula)?)
    }
}
