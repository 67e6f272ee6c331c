//! Sigmoid, tanh and the functions derived from them.

use super::fused::gradient;
use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, no_grad, one};

impl Tensor {
    /// `1/(1 + e⁻ˣ)`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-1000.0_f32, 0.0, 1000.0]);
    /// assert_eq!(x.sigmoid()?.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sigmoid(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Sigmoid)?
            .record([self], |y| Sigmoid { y: y.clone() }))
    }

    /// `tanh x`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-1000.0_f32, 0.0, 1000.0]);
    /// assert_eq!(x.tanh()?.to_vec::<f32>()?, [-1.0, 0.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn tanh(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Tanh)?
            .record([self], |y| Tanh { y: y.clone() }))
    }

    /// `ln(1/(1 + e⁻ˣ))`, elementwise, of a floating-point tensor: the logarithm of
    /// [`sigmoid`](Self::sigmoid) without its overflow.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-1000.0_f64, 0.0, 1000.0]);
    /// assert_eq!(x.log_sigmoid()?.to_vec::<f64>()?, [-1000.0, -std::f64::consts::LN_2, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn log_sigmoid(&self) -> Result<Self> {
        // Beyond the threshold the function is linear to the last place, in `f64` too.
        let out = self.widened()?.softplus(-1.0, 50.0)?;
        out.to_dtype(self.dtype())
    }

    /// `x / (1 + |x|)`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-1.0_f32, 0.0, 3.0]);
    /// assert_eq!(x.softsign()?.to_vec::<f32>()?, [-0.5, 0.0, 0.75]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn softsign(&self) -> Result<Self> {
        self.check_floating("softsign")?;
        let out = no_grad(|| {
            let x = self.widened()?;
            x.div(&x.abs()?.add(1.0)?)?.to_dtype(self.dtype())
        })?;
        Ok(out.record([self], |_| Softsign { x: self.clone() }))
    }

    /// `x - tanh x`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-1000.0_f32, 0.0]);
    /// assert_eq!(x.tanhshrink()?.to_vec::<f32>()?, [-999.0, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn tanhshrink(&self) -> Result<Self> {
        let x = self.widened()?;
        x.sub(&x.tanh()?)?.to_dtype(self.dtype())
    }
}

struct Sigmoid {
    y: Tensor,
}

impl Function for Sigmoid {
    fn name(&self) -> &'static str {
        "sigmoid"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (y, grad) = (ctx.output(&self.y).widened()?, ctx.grad().widened()?);
        let out = gradient(
            || y.unary_times(UnaryOp::SigmoidGrad, &grad).map(Some),
            || grad.mul(&y.mul(&y.neg()?.add(1.0)?)?),
        )?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}

struct Tanh {
    y: Tensor,
}

impl Function for Tanh {
    fn name(&self) -> &'static str {
        "tanh"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (y, grad) = (ctx.output(&self.y).widened()?, ctx.grad().widened()?);
        let out = gradient(
            || y.unary_times(UnaryOp::TanhGrad, &grad).map(Some),
            || grad.mul(&y.mul(&y)?.neg()?.add(1.0)?),
        )?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}

/// `g / (1 + |x|)²`; far from 0, the gradient of the quotient would be a difference of nearly equal numbers.
struct Softsign {
    x: Tensor,
}

impl Function for Softsign {
    fn name(&self) -> &'static str {
        "softsign"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (x, grad) = (self.x.widened()?, ctx.grad().widened()?);
        let share = x.abs()?.add(1.0)?.reciprocal()?;
        // As in PyTorch, an infinite argument has no result and no derivative.
        let slope = share.mul(&share)?.masked_fill(&x.isinf()?, f64::NAN)?;
        one(grad.mul(&slope)?.to_dtype(ctx.grad().dtype())?)
    }
}
