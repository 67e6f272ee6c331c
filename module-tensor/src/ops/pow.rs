//! Powers.

use super::{AutocastPolicy, Value};
use crate::backend::BinaryOp;
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::tensor::{one, two};
use crate::{DType, Error, Result};

impl Tensor {
    /// `selfᵉ`, elementwise with broadcasting; the exponent is a number or a tensor.
    ///
    /// The derivative with respect to the exponent is 0 where 0 is raised to a power of 0 or more. With a tensor of
    /// negative exponents, the integer 1 gives 1, -1 gives ±1 and the others give 0.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add), and a negative number as the exponent of integers.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    /// assert_eq!(x.pow(2.0)?.to_vec::<f32>()?, [1.0, 4.0, 9.0]);
    /// assert_eq!(x.pow(&Tensor::from([3.0_f32, 2.0, 1.0]))?.to_vec::<f32>()?, [1.0, 4.0, 3.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn pow<'a>(&self, exponent: impl Into<Value<'a>>) -> Result<Self> {
        self.pow_value(exponent.into())
    }

    fn pow_value(&self, exponent: Value<'_>) -> Result<Self> {
        const NAME: &str = "pow";
        let exponent = match exponent {
            Value::Tensor(exponent) => exponent,
            Value::Scalar(number) => {
                let exponent = number.to_f64();
                if exponent < 0.0 && !self.dtype().is_floating_point() {
                    let problem = "must not be negative for integers; cast with `to_dtype`";
                    return Err(Error::argument(NAME, "exponent", number, problem));
                }
                let out = self.binary_scalar(NAME, BinaryOp::Pow, number)?;
                let x = self.clone();
                return Ok(out.record([self], |_| Pow { x, exponent }));
            }
        };
        if let Some(out) =
            AutocastPolicy::Promote.apply([self, &exponent], [], |[a, b], []| a.pow(b))
        {
            return out;
        }
        let out = self.binary(NAME, BinaryOp::Pow, &exponent)?;
        Ok(out.record([self, &exponent], |y| PowOf {
            x: self.clone(),
            exponent: Tensor::clone(&exponent),
            y: y.clone(),
        }))
    }

    /// `self²`, elementwise.
    ///
    /// Booleans count as integers of type `I64`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([3_i64, -4]);
    /// assert_eq!(x.square()?.to_vec::<i64>()?, [9, 16]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn square(&self) -> Result<Self> {
        match self.dtype() {
            DType::Bool => self.to_dtype(DType::I64),
            _ => {
                let out = self.binary("square", BinaryOp::Mul, self)?;
                Ok(out.record([self], |_| Square(self.clone())))
            }
        }
    }
}

struct Pow {
    x: Tensor,
    exponent: f64,
}

impl Function for Pow {
    fn name(&self) -> &'static str {
        "pow"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        // The derivative of a constant is 0 even where `x⁻¹` is infinite.
        if self.exponent == 0.0 {
            return one(ctx.grad().zeros_like()?);
        }
        one(ctx
            .grad()
            .mul(&self.x.pow(self.exponent - 1.0)?.mul(self.exponent)?)?)
    }
}

struct Square(Tensor);

impl Function for Square {
    fn name(&self) -> &'static str {
        "square"
    }

    /// `2 x`
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one((self.0.mul(2.0)? * ctx.grad())?)
    }
}

struct PowOf {
    x: Tensor,
    exponent: Tensor,
    y: Tensor,
}

impl Function for PowOf {
    fn name(&self) -> &'static str {
        "pow"
    }

    /// `e x^(e - 1)` and `x^e ln x`, with 0 for the constant `x^0` and for the powers of 0, whatever the gradient is.
    ///
    /// Derivatives are replaced before they are multiplied too, so that second derivatives do not multiply 0 by an infinity.
    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { x, exponent, y } = self;
        two(
            ctx,
            || {
                let slope = x.pow(&exponent.sub(1.0)?)?.mul(exponent)?;
                let constant = exponent.eq(0.0)?;
                let slope = slope.masked_fill(&constant, 0.0)?;
                let grad = ctx.grad().mul(&slope)?.masked_fill(&constant, 0.0)?;
                grad.sum_to(x.shape())
            },
            || {
                let still = x.eq(0.0)?.logical_and(&exponent.ge(0.0)?)?;
                let slope = ctx.output(y).mul(&x.masked_fill(&still, 1.0)?.log()?)?;
                let grad = ctx.grad().mul(&slope)?.masked_fill(&still, 0.0)?;
                grad.sum_to(exponent.shape())
            },
        )
    }
}
