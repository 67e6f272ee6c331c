//! Floor division and remainders.

use std::ops;

use super::Value;
use crate::backend::{BinaryOp, UnaryOp};
use crate::tensor::{Backward, Function, Gradients, NoGradient, Tensor, one};
use crate::{Error, Result, Shape};

impl Tensor {
    /// `⌊self / other⌋`, elementwise with broadcasting; without a gradient, as in PyTorch.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add), booleans, integers divided by 0, a number that does not fit the dtype.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([7_i64, -7]);
    /// assert_eq!(x.floor_divide(2)?.to_vec::<i64>()?, [3, -4]);
    /// assert!(x.floor_divide(0).is_err());
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn floor_divide<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.floor_divide_value(other.into())
    }

    fn floor_divide_value(&self, other: Value<'_>) -> Result<Self> {
        const NAME: &str = "floor_divide";
        let other = self.divisor(NAME, other)?;
        let out = self.binary_with(NAME, BinaryOp::FloorDivide, &other)?;
        Ok(out.record(other.inputs(self), |_| NoGradient(NAME)))
    }

    /// `self - other · ⌊self / other⌋`, elementwise with broadcasting: the remainder has the sign of `other`, like Python's
    /// `%`.
    ///
    /// The gradient of `other` is `-⌊self / other⌋`.
    ///
    /// # Errors
    ///
    /// Those of [`floor_divide`](Self::floor_divide).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([7_i64, -7]);
    /// assert_eq!(x.remainder(3)?.to_vec::<i64>()?, [1, 2]);
    /// assert_eq!((&x % 3)?.to_vec::<i64>()?, [1, 2]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn remainder<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.remainder_of("remainder", BinaryOp::Remainder, other.into())
    }

    /// The remainder of division rounded toward 0, elementwise with broadcasting: it has the sign of `self`, like Rust's
    /// `%`.
    ///
    /// The gradient of `other` is the quotient rounded toward 0, negated.
    ///
    /// # Errors
    ///
    /// Those of [`floor_divide`](Self::floor_divide).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([7.5_f32, -7.5]);
    /// assert_eq!(x.fmod(2.0)?.to_vec::<f32>()?, [1.5, -1.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn fmod<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.remainder_of("fmod", BinaryOp::Fmod, other.into())
    }

    /// `x - trunc(x)`, elementwise, of a floating-point tensor: the fractional part, with the sign of `x`.
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
    /// let x = Tensor::from([1.5_f32, -2.25]);
    /// assert_eq!(x.frac()?.to_vec::<f32>()?, [0.5, -0.25]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn frac(&self) -> Result<Self> {
        self.check_floating("frac")?;
        Ok(self.unary(UnaryOp::Frac)?.record([self], |_| Frac))
    }

    fn remainder_of(&self, name: &'static str, op: BinaryOp, other: Value<'_>) -> Result<Self> {
        let other = self.divisor(name, other)?;
        let out = self.binary_with(name, op, &other)?;
        Ok(out.record(other.inputs(self), |_| Remainder {
            name,
            op,
            a: self.detach(),
            b: other.detach(),
        }))
    }

    /// The divisor; integer divisors must not be 0.
    fn divisor<'a>(&self, name: &'static str, other: Value<'a>) -> Result<Value<'a>> {
        let other = other.fit_to(name, self)?;
        if self.dtype().is_floating_point() || self.numel() == 0 {
            return Ok(other);
        }
        let (zero, shape) = match &other {
            Value::Scalar(number) => ((number.to_f64() == 0.0).then_some(0), Shape::default()),
            Value::Tensor(other) => {
                let zeros = other.eq(0)?.to_vec::<bool>()?;
                (zeros.iter().position(|zero| *zero), other.shape().clone())
            }
        };
        match zero {
            None => Ok(other),
            Some(index) => {
                let problem = format!(
                    "element {index} is 0, by which integers cannot be divided; cast with `to_dtype`, or replace it"
                );
                Err(Error::argument(name, "other", shape, problem))
            }
        }
    }
}

/// The remainder of a division: the quotient is piecewise constant.
struct Frac;

impl Function for Frac {
    fn name(&self) -> &'static str {
        "frac"
    }

    /// The part that is subtracted does not change.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(ctx.grad().clone())
    }
}

struct Remainder {
    name: &'static str,
    op: BinaryOp,
    a: Tensor,
    b: Value<'static>,
}

impl Function for Remainder {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { op, a, b, .. } = self;
        b.gradients(
            ctx,
            || ctx.grad().sum_to(a.shape()),
            |b| {
                let quotient = match op {
                    BinaryOp::Fmod => a.div(b)?.trunc()?,
                    _ => a.floor_divide(b)?,
                };
                ctx.grad().neg()?.mul(&quotient)?.sum_to(b.shape())
            },
        )
    }
}

/// [`Tensor::remainder`], like Python's `%`.
impl<'a, V: Into<Value<'a>>> ops::Rem<V> for &Tensor {
    type Output = Result<Tensor>;

    fn rem(self, other: V) -> Result<Tensor> {
        self.remainder(other)
    }
}

/// [`Tensor::remainder`], like Python's `%`.
impl<'a, V: Into<Value<'a>>> ops::Rem<V> for Tensor {
    type Output = Result<Tensor>;

    fn rem(self, other: V) -> Result<Tensor> {
        self.remainder(other)
    }
}
