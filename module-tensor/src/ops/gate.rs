//! Gated activations: GELU, SiLU, Mish, Hardswish, GLU.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use serde::{Deserialize, Serialize};

use super::fused::{by_grad_kernel, gradient};
use crate::Result;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled, one};

/// The form of [`Tensor::gelu`]: PyTorch's argument `approximate`.
///
/// # Example
///
/// ```
/// use module_tensor::{Approximate, Tensor};
///
/// let x = Tensor::from([1.0_f32]);
/// let (exact, tanh) = (x.gelu(Approximate::None)?, x.gelu(Approximate::Tanh)?);
/// assert!((exact.item::<f32>()? - tanh.item::<f32>()?).abs() < 1e-3);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Approximate {
    /// Exact, with the error function.
    #[default]
    None,
    /// The tanh approximation.
    Tanh,
}

impl Tensor {
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
    /// use module_tensor::{Approximate, Tensor};
    ///
    /// let x = Tensor::from(1.0_f64);
    /// assert!((x.gelu(Approximate::None)?.item::<f64>()? - 0.841_345).abs() < 1e-6);
    /// assert!((x.gelu(Approximate::Tanh)?.item::<f64>()? - 0.841_192).abs() < 1e-6);
    /// # Ok::<(), module_tensor::Error>(())
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
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 100.0, -100.0]);
    /// assert!(x.silu()?.sub(&x.relu()?)?.abs()?.amax(..)?.item::<f32>()? < 1e-6);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn silu(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Silu)?
            .record([self], |_| Silu { x: self.clone() }))
    }

    /// `x tanh(ln(1 + eˣ))`, elementwise, of a floating-point tensor.
    ///
    /// Source: Misra, "Mish: A Self Regularized Non-Monotonic Neural Activation Function", 2019.
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
    /// let x = Tensor::from([0.0_f64, 1.0, 100.0]);
    /// let y = x.mish()?.to_vec::<f64>()?;
    /// assert!(y[0] == 0.0 && (y[1] - 0.865_098).abs() < 1e-6 && y[2] == 100.0);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn mish(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Mish)?
            .record([self], |_| Mish { x: self.clone() }))
    }

    /// `x · min(max(x + 3, 0), 6) / 6`, elementwise, of a floating-point tensor.
    ///
    /// Source: Howard et al., "Searching for MobileNetV3", 2019.
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
    /// let x = Tensor::from([-4.0_f32, 1.5, 4.0]);
    /// assert_eq!(x.hardswish()?.to_vec::<f32>()?, [0.0, 1.125, 4.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn hardswish(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Hardswish)?
            .record([self], |_| Hardswish { x: self.clone() }))
    }

    /// The first half along `dim` times the [`sigmoid`](Self::sigmoid) of the second, of a
    /// floating-point tensor.
    ///
    /// Source: Dauphin, Fan, Auli and Grangier, "Language Modeling with Gated Convolutional
    /// Networks", 2017.
    ///
    /// # Errors
    ///
    /// A dimension that is out of range or of odd size, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([3.0_f32, 5.0, 0.0, 1000.0]);
    /// assert_eq!(x.glu(-1)?.to_vec::<f32>()?, [1.5, 5.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn glu(&self, dim: isize) -> Result<Self> {
        const NAME: &str = "glu";
        self.check_floating(NAME)?;
        let index = self.shape().dim(NAME, dim)?;
        let size = self.shape().get(index).copied().unwrap_or(1);
        if size % 2 != 0 {
            let expected = format!("an even size in dimension {dim}");
            return Err(self.shape().error(NAME, expected));
        }
        let [value, gate] = self.detach().widened()?.chunk_array(dim)?;
        if !(self.requires_grad() && is_grad_enabled()) {
            let out = gate.unary_times(UnaryOp::Sigmoid, &value)?;
            return out.to_dtype(self.dtype());
        }
        let gate = gate.sigmoid()?;
        let out = value.mul(&gate)?.to_dtype(self.dtype())?;
        Ok(out.record([self], |_| Glu {
            x: self.clone(),
            gate,
            dim,
        }))
    }
}

struct Glu {
    x: Tensor,
    /// The sigmoid of the second half.
    gate: Tensor,
    dim: isize,
}

impl Function for Glu {
    fn name(&self) -> &'static str {
        "glu"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (x, grad) = (self.x.widened()?, ctx.grad().widened()?);
        let [value, gate] = x.chunk_array(self.dim)?;
        let of_gate = grad.mul(&value)?;
        let (gate, of_gate) = gradient(
            || {
                let of_gate = self.gate.unary_times(UnaryOp::SigmoidGrad, &of_gate)?;
                Ok(Some((self.gate.clone(), of_gate)))
            },
            || {
                let gate = gate.sigmoid()?;
                let slope = gate.mul(&gate.neg()?.add(1.0)?)?;
                Ok((gate, of_gate.mul(&slope)?))
            },
        )?;
        let out = Tensor::cat(&[grad.mul(&gate)?, of_gate], self.dim)?;
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
            Approximate::None => UnaryOp::GeluGrad,
            Approximate::Tanh => UnaryOp::GeluTanhGrad,
        };
        by_grad_kernel(ctx, &self.x, kernel, |x| {
            let square = x.mul(x)?;
            // The derivative of `x · share(x)`.
            let (share, change) = match self.approximate {
                Approximate::None => (
                    x.mul(FRAC_1_SQRT_2)?.erf()?.add(1.0)?.mul(0.5)?,
                    square
                        .mul(-0.5)?
                        .exp()?
                        .mul(0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2)?,
                ),
                Approximate::Tanh => {
                    // ½ (1 + tanh u) is the sigmoid of 2u.
                    let scale = 2.0 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
                    let cubic = square.mul(0.044_715)?;
                    let share = x.mul(&cubic.add(1.0)?)?.mul(scale)?.sigmoid()?;
                    let inner = cubic.mul(3.0)?.add(1.0)?.mul(scale)?;
                    let change = share.mul(&share.neg()?.add(1.0)?)?.mul(&inner)?;
                    (share, change)
                }
            };
            share.add(&x.mul(&change)?)
        })
    }
}

struct Silu {
    x: Tensor,
}

impl Function for Silu {
    fn name(&self) -> &'static str {
        "silu"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        by_grad_kernel(ctx, &self.x, UnaryOp::SiluGrad, |x| {
            let share = x.sigmoid()?;
            share.mul(&x.mul(&share.neg()?.add(1.0)?)?.add(1.0)?)
        })
    }
}

struct Mish {
    x: Tensor,
}

impl Function for Mish {
    fn name(&self) -> &'static str {
        "mish"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        by_grad_kernel(ctx, &self.x, UnaryOp::MishGrad, |x| {
            let share = x.softplus(1.0, 20.0)?.tanh()?;
            let rest = share.mul(&share)?.neg()?.add(1.0)?;
            share.add(&x.mul(&x.sigmoid()?)?.mul(&rest)?)
        })
    }
}

struct Hardswish {
    x: Tensor,
}

impl Function for Hardswish {
    fn name(&self) -> &'static str {
        "hardswish"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        by_grad_kernel(ctx, &self.x, UnaryOp::HardswishGrad, |x| {
            let slope = x.mul(1.0 / 3.0)?.add(0.5)?;
            let slope = x.lt(3.0)?.where_(&slope, 1.0)?;
            x.le(-3.0)?.where_(0.0, &slope)
        })
    }
}
