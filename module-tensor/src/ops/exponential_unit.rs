//! Softplus and the exponential linear units: ELU, SELU, CELU.

use super::fused::by_grad_kernel;
use crate::backend::UnaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{Error, Result};

/// `α` and `λ` of [`Tensor::selu`].
const SELU_ALPHA: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

impl Tensor {
    /// `ln(1 + e^(βx)) / β`, elementwise, of a floating-point tensor; `x` itself where `βx` exceeds the threshold.
    /// PyTorch's defaults are 1 and 20.
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
    /// let x = Tensor::from([0.0_f64, 25.0]);
    /// assert_eq!(x.softplus(1.0, 20.0)?.to_vec::<f64>()?, [std::f64::consts::LN_2, 25.0]);
    /// # Ok::<(), module_tensor::Error>(())
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

    /// `α (eˣ - 1)` where `x` is negative, else `x`, elementwise, of a floating-point tensor.
    ///
    /// The derivative at 0 is `α`, as in PyTorch. Source: Clevert, Unterthiner and Hochreiter, "Fast and Accurate Deep
    /// Network Learning by Exponential Linear Units", 2015.
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
    /// let x = Tensor::from([2.0_f32, f32::NEG_INFINITY]);
    /// assert_eq!(x.elu(1.5)?.to_vec::<f32>()?, [2.0, -1.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn elu(&self, alpha: f64) -> Result<Self> {
        self.exponential_unit("elu", [alpha, 1.0, 1.0])
    }

    /// `λ x` where `x` is positive, else `λ α (eˣ - 1)`, elementwise, of a floating-point tensor, with `λ = 1.0507…` and
    /// `α = 1.6732…`, which preserve mean and variance from layer to layer.
    ///
    /// Source: Klambauer, Unterthiner, Mayr and Hochreiter, "Self-Normalizing Neural Networks", 2017.
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
    /// let y = Tensor::from([1.0_f64, f64::NEG_INFINITY]).selu()?.to_vec::<f64>()?;
    /// assert_eq!(y[0], 1.0507009873554805);
    /// assert!((y[1] + 1.758_099).abs() < 1e-6);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn selu(&self) -> Result<Self> {
        self.exponential_unit("selu", [SELU_ALPHA, SELU_SCALE, 1.0])
    }

    /// `max(x, 0) + min(0, α (e^(x/α) - 1))`, elementwise, of a floating-point tensor: an [`elu`](Self::elu) whose
    /// derivative is continuous for every `α`.
    ///
    /// Source: Barron, "Continuously Differentiable Exponential Linear Units", 2017.
    ///
    /// # Errors
    ///
    /// An `alpha` of 0, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([2.0_f32, f32::NEG_INFINITY]);
    /// assert_eq!(x.celu(1.5)?.to_vec::<f32>()?, [2.0, -1.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn celu(&self, alpha: f64) -> Result<Self> {
        if alpha == 0.0 {
            return Err(Error::argument("celu", "alpha", alpha, "must not be 0"));
        }
        self.exponential_unit("celu", [alpha, 1.0, 1.0 / alpha])
    }

    fn exponential_unit(
        &self,
        name: &'static str,
        [alpha, scale, input_scale]: [f64; 3],
    ) -> Result<Self> {
        let op = UnaryOp::Elu {
            alpha,
            scale,
            input_scale,
        };
        Ok(self.unary(op)?.record([self], |_| Elu {
            name,
            x: self.clone(),
            alpha,
            scale,
            input_scale,
        }))
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
        let Self {
            ref x,
            beta,
            threshold,
        } = *self;
        let kernel = UnaryOp::SoftplusGrad { beta, threshold };
        by_grad_kernel(ctx, x, kernel, |x| {
            let scaled = x.mul(beta)?;
            scaled.gt(threshold)?.where_(1.0, &scaled.sigmoid()?)
        })
    }
}

struct Elu {
    name: &'static str,
    x: Tensor,
    alpha: f64,
    scale: f64,
    input_scale: f64,
}

impl Function for Elu {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self {
            ref x,
            alpha,
            scale,
            input_scale,
            ..
        } = *self;
        let kernel = UnaryOp::EluGrad {
            alpha,
            scale,
            input_scale,
        };
        by_grad_kernel(ctx, x, kernel, |x| {
            // Where the exponential is not the derivative, it must not overflow: the second derivative multiplies it by 0.
            let slope = x.clamp_max(0.0)?.mul(input_scale)?.exp()?;
            let slope = slope.mul(alpha * scale * input_scale)?;
            x.detach().le(0.0)?.where_(&slope, scale)
        })
    }
}
