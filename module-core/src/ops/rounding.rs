//! Rounding to whole numbers and into intervals.

use crate::backend::{BinaryOp, UnaryOp};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{DType, Result, Scalar};

impl Tensor {
    /// The greatest whole number that is at most `x`, elementwise; its slope is 0.
    ///
    /// Integers are whole already.
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
    /// let x = Tensor::from([1.5_f32, -1.5]);
    /// assert_eq!(x.floor()?.to_vec::<f32>()?, [1.0, -2.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn floor(&self) -> Result<Self> {
        self.whole("floor", UnaryOp::Floor)
    }

    /// The smallest whole number that is at least `x`, elementwise; its slope is 0.
    ///
    /// Integers are whole already.
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
    /// let x = Tensor::from([1.5_f32, -1.5]);
    /// assert_eq!(x.ceil()?.to_vec::<f32>()?, [2.0, -1.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn ceil(&self) -> Result<Self> {
        self.whole("ceil", UnaryOp::Ceil)
    }

    /// The nearest whole number, the even one of two, elementwise; its slope is 0.
    ///
    /// Integers are whole already.
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
    /// let x = Tensor::from([0.5_f32, 1.5, 2.5, -0.7]);
    /// assert_eq!(x.round()?.to_vec::<f32>()?, [0.0, 2.0, 2.0, -1.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn round(&self) -> Result<Self> {
        self.whole("round", UnaryOp::Round)
    }

    fn whole(&self, name: &'static str, op: UnaryOp) -> Result<Self> {
        if matches!(self.dtype(), DType::I64 | DType::I32 | DType::U8) {
            return Ok(self.clone());
        }
        self.check_floating(name)?;
        Ok(self.unary(op)?.record([self], |_| Step { name }))
    }

    /// `min(max(x, low), high)`, elementwise; NaN stays NaN, and a NaN bound makes every element NaN.
    ///
    /// If `low > high`, every element is `high`. The gradient passes strictly between the bounds and
    /// is 0 on them and beyond.
    ///
    /// # Errors
    ///
    /// A tensor of truth values, floating-point bounds of integers.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([-2.0_f32, 0.5, 2.0]);
    /// assert_eq!(x.clamp(-1.0, 1.0)?.to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    #[doc(alias = "clip")]
    pub fn clamp(&self, low: impl Into<Scalar>, high: impl Into<Scalar>) -> Result<Self> {
        self.clamped("clamp", Some(low.into()), Some(high.into()))
    }

    /// `max(x, low)`, elementwise: [`clamp`](Self::clamp) without an upper bound.
    ///
    /// # Errors
    ///
    /// As [`clamp`](Self::clamp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([-2_i64, 0, 2]);
    /// assert_eq!(x.clamp_min(-1)?.to_vec::<i64>()?, [-1, 0, 2]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn clamp_min(&self, low: impl Into<Scalar>) -> Result<Self> {
        self.clamped("clamp_min", Some(low.into()), None)
    }

    /// `min(x, high)`, elementwise: [`clamp`](Self::clamp) without a lower bound.
    ///
    /// # Errors
    ///
    /// As [`clamp`](Self::clamp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::Tensor;
    ///
    /// let x = Tensor::from([-2_i64, 0, 2]);
    /// assert_eq!(x.clamp_max(1)?.to_vec::<i64>()?, [-2, 0, 1]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn clamp_max(&self, high: impl Into<Scalar>) -> Result<Self> {
        self.clamped("clamp_max", None, Some(high.into()))
    }

    fn clamped(
        &self,
        name: &'static str,
        low: Option<Scalar>,
        high: Option<Scalar>,
    ) -> Result<Self> {
        let mut out = self.detach();
        let ends = [low.map(Scalar::to_f64), high.map(Scalar::to_f64)];
        match ends {
            [Some(low), Some(high)]
                if self.dtype().is_floating_point() && !low.is_nan() && !high.is_nan() =>
            {
                out = out.unary(UnaryOp::Clamp { low, high })?;
            }
            _ => {
                for (op, bound) in [(BinaryOp::Maximum, low), (BinaryOp::Minimum, high)] {
                    if let Some(bound) = bound {
                        out = out.binary_scalar(name, op, bound)?;
                    }
                }
            }
        }
        Ok(out.record([self], |_| Clamp {
            name,
            x: self.detach(),
            low,
            high,
        }))
    }
}

/// A function of steps: its slope is 0 wherever it has one.
struct Step {
    name: &'static str,
}

impl Function for Step {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().zeros_like()?)
    }
}

struct Clamp {
    name: &'static str,
    x: Tensor,
    low: Option<Scalar>,
    high: Option<Scalar>,
}

impl Function for Clamp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let zero = Tensor::zeros((), ctx.grad().dtype(), &ctx.grad().device())?;
        let mut out = ctx.grad().clone();
        if let Some(low) = self.low {
            out = self.x.gt(low)?.where_(&out, &zero)?;
        }
        if let Some(high) = self.high {
            out = self.x.lt(high)?.where_(&out, &zero)?;
        }
        one(out)
    }
}
