//! Activation functions.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::fused::gradient;
use crate::Result;
use crate::backend::{BinaryOp, UnaryOp};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};

/// The form of [`Tensor::gelu`]: PyTorch's argument `approximate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Approximate {
    /// By the error function.
    #[default]
    None,
    /// By the hyperbolic tangent.
    Tanh,
}

impl Tensor {
    /// `max(x, 0)`, elementwise; NaN stays NaN.
    ///
    /// # Errors
    ///
    /// A tensor of truth values.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([-1.0_f32, 0.0, 2.0]);
    /// assert_eq!(x.relu()?.to_vec::<f32>()?, [0.0, 0.0, 2.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
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
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([-1000.0_f32, 0.0, 1000.0]);
    /// assert_eq!(x.sigmoid()?.to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), module_core::Error>(())
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
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([-1000.0_f32, 0.0, 1000.0]);
    /// assert_eq!(x.tanh()?.to_vec::<f32>()?, [-1.0, 0.0, 1.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn tanh(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Tanh)?
            .record([self], |y| Tanh { y: y.clone() }))
    }

    /// `x Φ(x)` with the normal distribution function `Φ`, elementwise, of a floating-point tensor.
    ///
    /// ```text
    /// Approximate::None: x · ½ (1 + erf(x/√2))
    /// Approximate::Tanh: x · ½ (1 + tanh(√(2/π) (x + 0.044715 x³)))
    /// ```
    ///
    /// Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Approximate, Tensor};
    ///
    /// let x = Tensor::from(1.0_f64);
    /// assert!((x.gelu(Approximate::None)?.item::<f64>()? - 0.841_345).abs() < 1e-6);
    /// assert!((x.gelu(Approximate::Tanh)?.item::<f64>()? - 0.841_192).abs() < 1e-6);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn gelu(&self, approximate: Approximate) -> Result<Self> {
        let op = match approximate {
            Approximate::None => UnaryOp::Gelu,
            Approximate::Tanh => UnaryOp::GeluTanh,
        };
        Ok(self.unary(op)?.record([self], |_| Gelu {
            x: self.clone(),
            approximate,
        }))
    }

    /// `x / (1 + e⁻ˣ)`, elementwise, of a floating-point tensor; also called swish.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 100.0, -100.0]);
    /// assert!(x.silu()?.sub(&x.relu()?)?.abs()?.amax(.., false)?.item::<f32>()? < 1e-6);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn silu(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Silu)?
            .record([self], |_| Silu { x: self.clone() }))
    }

    /// `ln(1 + e^(βx)) / β`, elementwise, of a floating-point tensor; `x` itself where `βx` exceeds
    /// the threshold. PyTorch's defaults are 1 and 20.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([0.0_f64, 25.0]);
    /// assert_eq!(x.softplus(1.0, 20.0)?.to_vec::<f64>()?, [std::f64::consts::LN_2, 25.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn softplus(&self, beta: f64, threshold: f64) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Softplus { beta, threshold })?
            .record([self], |_| Softplus {
                x: self.clone(),
                beta,
                threshold,
            }))
    }

    /// `x` where it is positive, else `negative_slope · x`, elementwise, of a floating-point tensor.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([2.0_f32, -2.0]);
    /// assert_eq!(x.leaky_relu(0.25)?.to_vec::<f32>()?, [2.0, -0.5]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn leaky_relu(&self, negative_slope: f64) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::LeakyRelu { negative_slope })?
            .record([self], |_| LeakyRelu {
                x: self.detach(),
                negative_slope,
            }))
    }

    /// `α (eˣ - 1)` where `x` is negative, else `x`, elementwise, of a floating-point tensor.
    ///
    /// The slope at 0 is `α`, as in PyTorch. Source: Clevert, Unterthiner and Hochreiter, "Fast and Accurate Deep Network Learning by
    /// Exponential Linear Units", 2015.
    ///
    /// # Errors
    ///
    /// A dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([2.0_f32, f32::NEG_INFINITY]);
    /// assert_eq!(x.elu(1.5)?.to_vec::<f32>()?, [2.0, -1.5]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn elu(&self, alpha: f64) -> Result<Self> {
        Ok(self.unary(UnaryOp::Elu { alpha })?.record([self], |_| Elu {
            x: self.clone(),
            alpha,
        }))
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
        one(rectify(&self.y, ctx.grad())?)
    }
}

/// `grad` where `y` is not at most 0: linear in `grad`, and without a slope in `y`.
fn rectify(y: &Tensor, grad: &Tensor) -> Result<Tensor> {
    let out = y.binary("relu", BinaryOp::Rectify, grad)?;
    Ok(out.record([grad], |_| Rectify { y: y.clone() }))
}

struct Rectify {
    y: Tensor,
}

impl Function for Rectify {
    fn name(&self) -> &'static str {
        "relu_backward"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(rectify(&self.y, ctx.grad())?)
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

struct Gelu {
    x: Tensor,
    approximate: Approximate,
}

impl Function for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let kernel = match self.approximate {
            Approximate::None => UnaryOp::GeluSlope,
            Approximate::Tanh => UnaryOp::GeluTanhSlope,
        };
        by_slope(ctx, &self.x, kernel, |x| {
            let square = x.mul(x)?;
            // The slope of `x · share(x)`.
            let (share, change) = match self.approximate {
                Approximate::None => (
                    x.mul(FRAC_1_SQRT_2)?.erf()?.add(1.0)?.mul(0.5)?,
                    square
                        .mul(-0.5)?
                        .exp()?
                        .mul(0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2)?,
                ),
                Approximate::Tanh => {
                    let scale = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
                    let cubic = square.mul(0.044_715)?;
                    let t = x.mul(&cubic.add(1.0)?)?.mul(scale)?.tanh()?;
                    let inner = cubic.mul(3.0)?.add(1.0)?.mul(0.5 * scale)?;
                    let change = t.mul(&t)?.neg()?.add(1.0)?.mul(&inner)?;
                    (t.add(1.0)?.mul(0.5)?, change)
                }
            };
            share.add(&x.mul(&change)?)
        })
    }
}

/// The gradient of a function of one element, from its slope: by a kernel, or by a formula that can be
/// differentiated once more.
fn by_slope(
    ctx: &Backward,
    x: &Tensor,
    kernel: UnaryOp,
    formula: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Gradients> {
    let (x, grad) = (x.widened()?, ctx.grad().widened()?);
    let slope = gradient(|| x.unary(kernel), || formula(&x))?;
    one(grad.mul(&slope)?.to_dtype(ctx.grad().dtype())?)
}

struct Silu {
    x: Tensor,
}

impl Function for Silu {
    fn name(&self) -> &'static str {
        "silu"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        by_slope(ctx, &self.x, UnaryOp::SiluSlope, |x| {
            let share = x.sigmoid()?;
            share.mul(&x.mul(&share.neg()?.add(1.0)?)?.add(1.0)?)
        })
    }
}

struct Softplus {
    x: Tensor,
    beta: f64,
    threshold: f64,
}

impl Function for Softplus {
    fn name(&self) -> &'static str {
        "softplus"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let scaled = self.x.widened()?.mul(self.beta)?;
        let grad = ctx.grad().widened()?;
        let line = scaled.gt(self.threshold)?;
        let out = line.where_(&grad, &grad.mul(&scaled.sigmoid()?)?)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}

struct LeakyRelu {
    x: Tensor,
    negative_slope: f64,
}

impl Function for LeakyRelu {
    fn name(&self) -> &'static str {
        "leaky_relu"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad().widened()?;
        let positive = self.x.gt(0.0)?;
        let out = positive.where_(&grad, &grad.mul(self.negative_slope)?)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}

struct Elu {
    x: Tensor,
    alpha: f64,
}

impl Function for Elu {
    fn name(&self) -> &'static str {
        "elu"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (x, grad) = (self.x.widened()?, ctx.grad().widened()?);
        // Where the exponential is not the slope it must not overflow: the second derivative
        // multiplies it with 0.
        let slope = x.clamp_max(0.0)?.exp()?.mul(self.alpha)?;
        let out = x.le(0.0)?.where_(&grad.mul(&slope)?, &grad)?;
        one(out.to_dtype(ctx.grad().dtype())?)
    }
}
