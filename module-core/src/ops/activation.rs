//! Activation functions.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

impl Tensor {
    /// `max(x, 0)`, elementwise; NaN stays NaN.
    ///
    /// # Errors
    ///
    /// A tensor of truth values.
    pub fn relu(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Relu)?
            .record([self], |y| Relu { y: y.clone() }))
    }

    /// `1/(1 + e⁻ˣ)`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
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
    pub fn tanh(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Tanh)?
            .record([self], |y| Tanh { y: y.clone() }))
    }
}

struct Relu {
    y: Tensor,
}

impl Function for Relu {
    fn name(&self) -> &'static str {
        "relu"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        // PyTorch masks by `y <= 0`, so that NaN passes its gradient on.
        let zero = ctx.grad().zeros_like()?;
        one(self.y.le(0.0)?.where_(&zero, ctx.grad())?)
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
        let out = grad.mul(&y.mul(&y.neg()?.add(1.0)?)?)?;
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
        let out = grad.mul(&y.mul(&y)?.neg()?.add(1.0)?)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}
