//! The complementary and the inverse error function, and the logarithm of the gamma function with its derivatives: `erfinv`,
//! `lgamma`, `digamma`, `polygamma`.

use std::f64::consts::{FRAC_2_SQRT_PI, PI};

use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

impl Tensor {
    /// `1 - erf(x)`, elementwise, of a floating-point tensor, with all digits where [`erf`](Self::erf) is almost 1.
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
    /// let x = Tensor::from([0.0_f64, f64::INFINITY, 5.0]);
    /// let y = x.erfc()?.to_vec::<f64>()?;
    /// assert_eq!(y[..2], [1.0, 0.0]);
    /// assert!((y[2] / 1.537_459_794_428_035e-12 - 1.0).abs() < 1e-15);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn erfc(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Erfc, |x| {
            x.square()?.neg()?.exp()?.mul(-FRAC_2_SQRT_PI)
        })
    }

    /// The inverse of [`erf`](Self::erf), elementwise, of a floating-point tensor; NaN outside [-1, 1].
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
    /// let x = Tensor::from([0.0_f64, 1.0]);
    /// assert_eq!(x.erfinv()?.to_vec::<f64>()?, [0.0, f64::INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn erfinv(&self) -> Result<Self> {
        self.pointwise_by_output(UnaryOp::Erfinv, |y| y.square()?.exp()?.mul(0.5 * PI.sqrt()))
    }

    /// `ln |Γ(x)|`, elementwise, of a floating-point tensor; infinite at 0 and at negative integers.
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
    /// let x = Tensor::from([1.0_f64, 2.0, 0.0]);
    /// assert_eq!(x.lgamma()?.to_vec::<f64>()?, [0.0, 0.0, f64::INFINITY]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn lgamma(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Lgamma, |x| x.digamma())
    }

    /// The derivative of `ln Γ(x)`, elementwise, of a floating-point tensor; NaN at negative integers.
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
    /// let x = Tensor::from([1.0_f64, 0.0]);
    /// let y = x.digamma()?.to_vec::<f64>()?;
    /// // Minus the constant of Euler and Mascheroni.
    /// assert!((y[0] + 0.577_215_664_901_532_9).abs() < 1e-15);
    /// assert_eq!(y[1], f64::NEG_INFINITY);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn digamma(&self) -> Result<Self> {
        self.pointwise(UnaryOp::Polygamma { order: 0 }, |x| x.polygamma(1))
    }

    /// The `n`-th derivative of [`digamma`](Self::digamma), elementwise, of a floating-point tensor.
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
    /// let y = Tensor::from([1.0_f64]).polygamma(1)?.item::<f64>()?;
    /// assert!((y - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-14);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn polygamma(&self, n: u32) -> Result<Self> {
        if n == 0 {
            return self.digamma();
        }
        let out = self.unary(UnaryOp::Polygamma { order: n })?;
        let x = self.clone();
        Ok(out.record([self], |_| Polygamma { x, order: n }))
    }
}

struct Polygamma {
    x: Tensor,
    order: u32,
}

impl Function for Polygamma {
    fn name(&self) -> &'static str {
        "polygamma"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let derivative = self.x.polygamma(self.order.saturating_add(1))?;
        one(ctx.grad().mul(&derivative)?)
    }
}
