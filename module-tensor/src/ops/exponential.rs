//! Exponentials, logarithms, roots, and the error function: `exp`, `log`, `sqrt`, `rsqrt`, `erf` and others.

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

impl Tensor {
    /// `eˣ`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([f32::NEG_INFINITY, 0.0]);
    /// assert_eq!(x.exp()?.to_vec::<f32>()?, [0.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 1.0]);
    /// assert_eq!(x.log()?.to_vec::<f32>()?, [f32::NEG_INFINITY, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([4.0_f32, 0.25]);
    /// assert_eq!(x.sqrt()?.to_vec::<f32>()?, [2.0, 0.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([4.0_f32, 0.0]);
    /// assert_eq!(x.reciprocal()?.to_vec::<f32>()?, [0.25, f32::INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([4.0_f32, 0.25, 0.0]);
    /// assert_eq!(x.rsqrt()?.to_vec::<f32>()?, [0.5, 2.0, f32::INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn rsqrt(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Rsqrt)?
            .record([self], |y| Rsqrt { y: y.clone() }))
    }

    /// `ln(1 + x)`, elementwise, of a floating-point tensor; accurate even if `1 + x` would round to 1.
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
    /// let x = Tensor::from([0.0_f32, 1e-10, -1.0]);
    /// assert_eq!(x.log1p()?.to_vec::<f32>()?, [0.0, 1e-10, f32::NEG_INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn log1p(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Log1p)?
            .record([self], |_| Log1p { x: self.clone() }))
    }

    /// `eˣ - 1`, elementwise, of a floating-point tensor; accurate even if `eˣ` would round to 1.
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
    /// let x = Tensor::from([0.0_f32, 1e-10, f32::NEG_INFINITY]);
    /// assert_eq!(x.expm1()?.to_vec::<f32>()?, [0.0, 1e-10, -1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn expm1(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Expm1)?
            .record([self], |y| Expm1 { y: y.clone() }))
    }

    /// The error function `2/√π · ∫₀ˣ e^(-t²) dt`, elementwise, of a floating-point tensor.
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
    /// let x = Tensor::from([0.0_f64, 1.0, f64::INFINITY]);
    /// assert_eq!(x.erf()?.to_vec::<f64>()?, [0.0, 0.842_700_792_949_714_9, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn erf(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Erf)?
            .record([self], |_| Erf { x: self.clone() }))
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

struct Rsqrt {
    y: Tensor,
}

impl Function for Rsqrt {
    fn name(&self) -> &'static str {
        "rsqrt"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (y, grad) = (ctx.output(&self.y).widened()?, ctx.grad().widened()?);
        let cube = (y.mul(&y)? * &y)?;
        let out = (grad.mul(-0.5)? * cube)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}

struct Log1p {
    x: Tensor,
}

impl Function for Log1p {
    fn name(&self) -> &'static str {
        "log1p"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().div(&self.x.add(1.0)?)?)
    }
}

struct Expm1 {
    y: Tensor,
}

impl Function for Expm1 {
    fn name(&self) -> &'static str {
        "expm1"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().mul(&ctx.output(&self.y).add(1.0)?)?)
    }
}

struct Erf {
    x: Tensor,
}

impl Function for Erf {
    fn name(&self) -> &'static str {
        "erf"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (x, grad) = (self.x.widened()?, ctx.grad().widened()?);
        let slope = x.mul(&x)?.neg()?.exp()?.mul(FRAC_2_SQRT_PI)?;
        one(grad.mul(&slope)?.to_dtype(ctx.grad().dtype())?)
    }
}
