//! `logaddexp`, `logaddexp2` and `xlogy`.

use std::f64::consts::LN_2;

use super::Value;
use crate::Result;
use crate::tensor::{Backward, Function, Gradients, Tensor, no_grad, two};

impl Tensor {
    /// `ln(eᵃ + eᵇ)` without overflow, with broadcasting.
    ///
    /// # Errors
    ///
    /// Shapes that do not broadcast, different dtypes or devices, a dtype that is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1000.0_f64]).logaddexp(&Tensor::from([1000.0_f64]))?;
    /// assert_eq!(x.to_vec::<f64>()?, [1000.0 + std::f64::consts::LN_2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logaddexp(&self, other: &Self) -> Result<Self> {
        LogAddExp::new("logaddexp", 1.0, self, other).run()
    }

    /// `log₂(2ᵃ + 2ᵇ)` without overflow, with broadcasting.
    ///
    /// # Errors
    ///
    /// Those of [`logaddexp`](Self::logaddexp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1000.0_f64]).logaddexp2(&Tensor::from([1000.0_f64]))?;
    /// assert_eq!(x.to_vec::<f64>()?, [1001.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn logaddexp2(&self, other: &Self) -> Result<Self> {
        LogAddExp::new("logaddexp2", LN_2, self, other).run()
    }

    /// `x ln y`, and 0 where `x` is 0 unless `y` is NaN, with broadcasting.
    ///
    /// # Errors
    ///
    /// Those of [`logaddexp`](Self::logaddexp).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([0.0_f32, 2.0]).xlogy(&Tensor::from([0.0_f32, 1.0]))?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn xlogy<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.xlogy_value(other.into())
    }

    fn xlogy_value(&self, other: Value<'_>) -> Result<Self> {
        const NAME: &str = "xlogy";
        let other = other.like(NAME, self)?;
        self.check_floating(NAME)?;
        let out = no_grad(|| {
            let (x, y) = (self.widened()?, other.widened()?);
            let zero = x.eq(0.0)?.logical_and(&y.isnan()?.logical_not()?)?;
            zero.where_(0.0, &x.mul(&y.log()?)?)?.to_dtype(self.dtype())
        })?;
        let (x, y) = (self.clone(), other.into_owned());
        Ok(out.record([self, &y.clone()], |_| XLogY { x, y }))
    }
}

/// `ln(e^(ka) + e^(kb)) / k`.
struct LogAddExp {
    name: &'static str,
    scale: f64,
    a: Tensor,
    b: Tensor,
}

impl LogAddExp {
    fn new(name: &'static str, scale: f64, a: &Tensor, b: &Tensor) -> Self {
        let (a, b) = (a.clone(), b.clone());
        Self { name, scale, a, b }
    }

    fn run(self) -> Result<Tensor> {
        self.a.check_same(self.name, &self.b)?;
        self.a.check_floating(self.name)?;
        self.a.shape().broadcast(self.name, self.b.shape())?;
        let out = no_grad(|| {
            let (a, b) = (self.a.widened()?, self.b.widened()?);
            let gap = a.sub(&b)?.abs()?.mul(-self.scale)?;
            let more = gap.exp()?.log1p()?;
            let more = if self.scale == 1.0 {
                more
            } else {
                more.div(self.scale)?
            };
            // The difference of two equal infinities is NaN.
            let same = a.eq(&b)?.logical_and(&a.isinf()?)?;
            let out = same.where_(&a, &a.maximum(&b)?.add(&more)?)?;
            out.to_dtype(self.a.dtype())
        })?;
        let (a, b) = (self.a.clone(), self.b.clone());
        Ok(out.record([&a, &b], |_| self))
    }

    /// The gradient of the first: `g / (1 + e^(k(b - a)))`.
    fn part(&self, grad: &Tensor, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let power = b.widened()?.sub(&a.widened()?)?.mul(self.scale)?.exp()?;
        let out = grad.widened()?.div(&power.add(1.0)?)?;
        out.to_dtype(grad.dtype())?.sum_to(a.shape())
    }
}

impl Function for LogAddExp {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        two(
            ctx,
            || self.part(ctx.grad(), &self.a, &self.b),
            || self.part(ctx.grad(), &self.b, &self.a),
        )
    }
}

struct XLogY {
    x: Tensor,
    y: Tensor,
}

impl Function for XLogY {
    fn name(&self) -> &'static str {
        "xlogy"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad();
        two(
            ctx,
            || {
                let nothing = self.x.eq(0.0)?.logical_and(&self.y.le(0.0)?)?;
                let out = grad.xlogy(&self.y)?.masked_fill(&nothing, 0.0)?;
                out.sum_to(self.x.shape())
            },
            || {
                let out = grad
                    .widened()?
                    .mul(&self.x.widened()?)?
                    .div(&self.y.widened()?)?;
                out.to_dtype(grad.dtype())?.sum_to(self.y.shape())
            },
        )
    }
}
