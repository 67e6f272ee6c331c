//! ReLU and its variants: leaky ReLU, PReLU, threshold.

use super::AutocastPolicy;
use super::fused::by_grad_kernel;
use crate::backend::{BinaryOp, FillRange, UnaryOp};
use crate::tensor::{Backward, Function, Gradients, Tensor, one, two};
use crate::{Result, Scalar, ShapeError};

impl Tensor {
    /// `max(x, 0)`, elementwise; NaN stays NaN.
    ///
    /// # Errors
    ///
    /// A tensor of booleans.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-1.0_f32, 0.0, 2.0]);
    /// assert_eq!(x.relu()?.to_vec::<f32>()?, [0.0, 0.0, 2.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn relu(&self) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::Relu)?
            .record([self], |y| Relu { y: y.clone() }))
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
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([2.0_f32, -2.0]);
    /// assert_eq!(x.leaky_relu(0.25)?.to_vec::<f32>()?, [2.0, -0.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn leaky_relu(&self, negative_slope: f64) -> Result<Self> {
        Ok(self
            .unary(UnaryOp::LeakyRelu { negative_slope })?
            .record([self], |_| LeakyRelu {
                x: self.detach(),
                negative_slope,
            }))
    }

    /// `x` where it is positive, else `x` times the weight of its channel, of a floating-point tensor.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, …]`, or without channels, and a weight `[channels]` or of one element.
    ///
    /// # Errors
    ///
    /// A weight of other shapes, another dtype or device, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[-4.0_f32, -4.0], [1.0, 2.0]]);
    /// let y = x.prelu(&Tensor::from([0.25_f32, 0.5]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [-1.0, -2.0, 1.0, 2.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn prelu(&self, weight: &Self) -> Result<Self> {
        const NAME: &str = "prelu";
        if let Some(out) =
            AutocastPolicy::LowerPrecision
                .apply([self, weight], [], |[x, weight], []| x.prelu(weight))
        {
            return out;
        }
        self.check_floating(NAME)?;
        self.check_same(NAME, weight)?;
        let count = weight.numel();
        if weight.rank() > 1 {
            return Err(weight
                .shape()
                .error(NAME, "a weight of at most one dimension"));
        }
        // A tensor without a channel dimension has one channel.
        let channels = self.shape().get(1).copied().unwrap_or(1);
        if count != 1 && (count != channels || self.rank() == 0) {
            let (op, lhs, rhs) = (NAME, self.shape().clone(), weight.shape().clone());
            let rule =
                format!("the weight must have 1 or {channels} elements, one for each channel");
            return Err(ShapeError::Mismatch { op, lhs, rhs, rule }.into());
        }
        let (x, weight) = (self.widened()?, weight.widened()?);
        let weight = match self.rank() {
            0 | 1 => weight.reshape_to(&vec![1; self.rank()].into())?,
            rank => {
                let sizes = (0..rank).map(|dim| if dim == 1 { count } else { 1 });
                weight.reshape_to(&sizes.collect())?
            }
        };
        let out = x.binary(NAME, BinaryOp::Prelu, &weight)?;
        let out = out.record([&x, &weight], |_| Prelu {
            x: x.clone(),
            weight: weight.clone(),
        });
        out.to_dtype(self.dtype())
    }

    /// `x` where it exceeds the threshold, else `value`, elementwise; NaN stays NaN.
    ///
    /// # Errors
    ///
    /// A tensor of booleans, floating-point numbers beside integers.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.5_f32, 1.0, 1.5]);
    /// assert_eq!(x.threshold(1.0, -2.0)?.to_vec::<f32>()?, [-2.0, -2.0, 1.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn threshold(
        &self,
        threshold: impl Into<Scalar>,
        value: impl Into<Scalar>,
    ) -> Result<Self> {
        self.threshold_numbers(threshold.into(), value.into())
    }

    fn threshold_numbers(&self, threshold: Scalar, value: Scalar) -> Result<Self> {
        const NAME: &str = "threshold";
        for number in [threshold, value] {
            self.check_number(NAME, number)?;
            number.check_fits(NAME, self.dtype())?;
        }
        let threshold = match threshold {
            Scalar::Float(bound) => self.dtype().rounded(bound).into(),
            exact => exact,
        };
        let flat = FillRange::Within(f64::NEG_INFINITY.into(), threshold);
        self.fill_in_range(NAME, &self.detach(), flat, value)
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
        let flat = FillRange::Within(f64::NEG_INFINITY.into(), 0.into());
        one(ctx
            .grad()
            .fill_in_range("relu_backward", &self.y, flat, 0)?)
    }
}

struct Prelu {
    x: Tensor,
    /// Of a shape that broadcasts to that of `x`.
    weight: Tensor,
}

impl Function for Prelu {
    fn name(&self) -> &'static str {
        "prelu"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (Self { x, weight }, grad) = (self, ctx.grad());
        two(
            ctx,
            || x.detach().gt(0.0)?.where_(grad, grad.mul(weight)?),
            || (grad * x.clamp_max(0.0)?)?.sum_to(weight.shape()),
        )
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
        let negative_slope = self.negative_slope;
        let kernel = UnaryOp::LeakyReluGrad { negative_slope };
        by_grad_kernel(ctx, &self.x, kernel, |x| {
            x.gt(0.0)?.where_(&x.ones_like()?, negative_slope)
        })
    }
}
