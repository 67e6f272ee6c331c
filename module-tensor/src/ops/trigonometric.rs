//! Sine and cosine.

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

impl Tensor {
    /// `sin x`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([0.0_f64, std::f64::consts::FRAC_PI_2]);
    /// assert_eq!(x.sin()?.to_vec::<f64>()?, [0.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn sin(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Sin)?
            .record([self], |_| Sin { x: self.clone() }))
    }

    /// `cos x`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([0.0_f64, std::f64::consts::PI]);
    /// assert_eq!(x.cos()?.to_vec::<f64>()?, [1.0, -1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn cos(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Cos)?
            .record([self], |_| Cos { x: self.clone() }))
    }
}

struct Sin {
    x: Tensor,
}

impl Function for Sin {
    fn name(&self) -> &'static str {
        "sin"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().mul(&self.x.cos()?)?)
    }
}

struct Cos {
    x: Tensor,
}

impl Function for Cos {
    fn name(&self) -> &'static str {
        "cos"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().mul(&self.x.sin()?.neg()?)?)
    }
}
