//! Exponentials, logarithms and roots.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

impl Tensor {
    /// `eˣ`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    pub fn exp(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Exp)?
            .record([self], |y| Exp { y: y.clone() }))
    }

    /// `ln x`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    pub fn log(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Log)?
            .record([self], |_| Log { x: self.clone() }))
    }

    /// `√x`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    pub fn sqrt(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Sqrt)?
            .record([self], |y| Sqrt { y: y.clone() }))
    }

    /// `1/x`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    pub fn reciprocal(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Reciprocal)?
            .record([self], |y| Reciprocal { y: y.clone() }))
    }

    /// `1/√x`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    pub fn rsqrt(&self) -> Result<Self> {
        self.sqrt()?.reciprocal()
    }
}

struct Exp {
    y: Tensor,
}

impl Function for Exp {
    fn name(&self) -> &'static str {
        "exp"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().mul(ctx.output(&self.y))?)
    }
}

struct Log {
    x: Tensor,
}

impl Function for Log {
    fn name(&self) -> &'static str {
        "log"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().div(&self.x)?)
    }
}

struct Sqrt {
    y: Tensor,
}

impl Function for Sqrt {
    fn name(&self) -> &'static str {
        "sqrt"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().div(&ctx.output(&self.y).mul(2.0)?)?)
    }
}

struct Reciprocal {
    y: Tensor,
}

impl Function for Reciprocal {
    fn name(&self) -> &'static str {
        "reciprocal"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let y = ctx.output(&self.y);
        one(ctx.grad().mul(&y.mul(&y)?.neg()?)?)
    }
}
