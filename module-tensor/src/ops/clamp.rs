//! `clamp`, `clamp_min` and `clamp_max`.

use super::Value;
use crate::backend::{BinaryOp, FillRange, UnaryOp};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Result, Scalar};

impl Tensor {
    /// `min(max(x, low), high)`, elementwise; NaN stays NaN, and a NaN bound makes every element NaN.
    ///
    /// If `low > high`, every element is `high`. Each bound is a number or a tensor that broadcasts. With two numbers as
    /// bounds, `x` has a gradient only strictly between them; with a tensor as a bound, also where it equals a bound, and
    /// beyond a bound that bound has it. With a single tensor bound, [`maximum`](Self::maximum) or
    /// [`minimum`](Self::minimum) divides the gradient where both are equal.
    ///
    /// # Errors
    ///
    /// A tensor of booleans, floating-point bounds of integers; for tensors, those of [`add`](Self::add).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-2.0_f32, 0.5, 2.0]);
    /// assert_eq!(x.clamp(-1.0, 1.0)?.to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
    /// let low = Tensor::from([-3.0_f32, 1.0, 0.0]);
    /// assert_eq!(x.clamp(&low, 1.5)?.to_vec::<f32>()?, [-2.0, 1.0, 1.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "clip")]
    #[inline]
    pub fn clamp<'a>(&self, low: impl Into<Value<'a>>, high: impl Into<Value<'a>>) -> Result<Self> {
        self.clamp_values(low.into(), high.into())
    }

    fn clamp_values(&self, low: Value<'_>, high: Value<'_>) -> Result<Self> {
        const NAME: &str = "clamp";
        match (low, high) {
            (Value::Scalar(low), Value::Scalar(high)) => {
                self.clamp_numbers(NAME, Some(low), Some(high))
            }
            (low, high) => {
                let (low, high) = (low.fit_to(NAME, self)?, high.fit_to(NAME, self)?);
                self.clamp_between(&low, &high)
            }
        }
    }

    /// `max(x, low)`, elementwise: [`clamp`](Self::clamp) without an upper bound.
    ///
    /// # Errors
    ///
    /// Those of [`clamp`](Self::clamp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-2_i64, 0, 2]);
    /// assert_eq!(x.clamp_min(-1)?.to_vec::<i64>()?, [-1, 0, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn clamp_min<'a>(&self, low: impl Into<Value<'a>>) -> Result<Self> {
        self.clamp_min_value(low.into())
    }

    fn clamp_min_value(&self, low: Value<'_>) -> Result<Self> {
        match low {
            Value::Scalar(low) => self.clamp_numbers("clamp_min", Some(low), None),
            Value::Tensor(low) => self.maximum(&*low),
        }
    }

    /// `min(x, high)`, elementwise: [`clamp`](Self::clamp) without a lower bound.
    ///
    /// # Errors
    ///
    /// Those of [`clamp`](Self::clamp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-2_i64, 0, 2]);
    /// assert_eq!(x.clamp_max(1)?.to_vec::<i64>()?, [-2, 0, 1]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn clamp_max<'a>(&self, high: impl Into<Value<'a>>) -> Result<Self> {
        self.clamp_max_value(high.into())
    }

    fn clamp_max_value(&self, high: Value<'_>) -> Result<Self> {
        match high {
            Value::Scalar(high) => self.clamp_numbers("clamp_max", None, Some(high)),
            Value::Tensor(high) => self.minimum(&*high),
        }
    }

    fn clamp_numbers(
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

    fn clamp_between(&self, low: &Value<'_>, high: &Value<'_>) -> Result<Self> {
        const NAME: &str = "clamp";
        let raised = self.binary_with(NAME, BinaryOp::Maximum, low)?;
        let out = raised.binary_with(NAME, BinaryOp::Minimum, high)?;
        Ok(
            out.record(low.inputs(self).chain(high.tensor()), |_| Between {
                x: self.detach(),
                low: low.detach(),
                high: high.detach(),
            }),
        )
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
        let (x, grad) = (&self.x, ctx.grad());
        one(match (self.low, self.high) {
            (Some(low), Some(high)) => {
                let flat = FillRange::NotBetween(low, high);
                grad.fill_in_range(self.name, x, flat, 0)?
            }
            (Some(low), None) => x.gt(low)?.where_(grad, 0.0)?,
            (None, Some(high)) => x.lt(high)?.where_(grad, 0.0)?,
            (None, None) => grad.clone(),
        })
    }
}

/// With two bounds, at least one of which is a tensor.
struct Between {
    x: Tensor,
    low: Value<'static>,
    high: Value<'static>,
}

impl Function for Between {
    fn name(&self) -> &'static str {
        "clamp"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { x, low, high } = self;
        let masked = |input, mask: &dyn Fn() -> Result<Tensor>, of: &Tensor| {
            let gradient = || mask()?.where_(ctx.grad(), 0.0)?.sum_to(of.shape());
            ctx.needs(input).then(gradient).transpose()
        };
        let (below, above) = (|| x.lt(low.clone()), || x.gt(high.clone()));
        // As in PyTorch if one of the three is NaN.
        let inside = || below()?.logical_or(&above()?)?.logical_not();
        let mut gradients = vec![masked(0, &inside, x)?];
        if let Some(low) = low.tensor() {
            let of_low = || below()?.logical_and(&low.lt(high.clone())?);
            gradients.push(masked(1, &of_low, low)?);
        }
        if let Some(high) = high.tensor() {
            let of_high = || {
                let beyond = above()?.logical_and(&high.ge(low.clone())?)?;
                beyond.logical_or(&high.lt(low.clone())?)
            };
            gradients.push(masked(gradients.len(), &of_high, high)?);
        }
        Ok(gradients.into_iter().collect())
    }
}
