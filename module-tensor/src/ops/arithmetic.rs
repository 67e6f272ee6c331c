//! Sums, differences, products and quotients with broadcasting.

use super::{AutocastPolicy, Value, by_saved};
use crate::backend::{BinaryOp, Operand};
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::tensor::{one, two};
use crate::{DType, Result, Scalar, Shape};

impl Tensor {
    pub(super) fn binary(&self, name: &'static str, op: BinaryOp, other: &Self) -> Result<Self> {
        let backend = self.device().backend();
        if self.shape() == other.shape() {
            self.check_same(name, other)?;
            return self.each_pair(other, |a, b| backend.binary(op, a, b));
        }
        let (a, b, shape) = self.broadcast_operands(name, other)?;
        Ok(Self::fresh(backend.binary(op, a, b)?, shape))
    }

    /// The operands of a kernel, broadcast, and the shape of its result.
    fn broadcast_operands(
        &self,
        name: &'static str,
        other: &Self,
    ) -> Result<(Operand, Operand, Shape)> {
        self.check_same(name, other)?;
        if self.shape() == other.shape() {
            return Ok((self.operand(), other.operand(), self.shape().clone()));
        }
        let shape = self.shape().broadcast(name, other.shape())?;
        // The result may be large even if each side is small.
        shape.checked_numel(name, self.dtype().size_in_bytes())?;
        let a = self.operand_as(name, &shape)?;
        Ok((a, other.operand_as(name, &shape)?, shape))
    }

    pub(super) fn binary_scalar(
        &self,
        name: &'static str,
        op: BinaryOp,
        number: Scalar,
    ) -> Result<Self> {
        self.check_number(name, number)?;
        let backend = self.device().backend();
        self.each(name, |x| backend.binary_scalar(op, x, number))
    }

    /// One of the four operations with a number on the right.
    fn with_number(&self, name: &'static str, op: BinaryOp, number: Scalar) -> Result<Self> {
        let out = self.binary_scalar(name, op, number)?;
        Ok(out.record([self], |_| WithNumber { name, op, number }))
    }

    /// `self + α·other`, elementwise with broadcasting, in one pass: PyTorch's `add` with `alpha`. In half precision
    /// `alpha` is rounded to the dtype, and the sum once.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add), with a number `alpha`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, 2.0]).add_scaled(&Tensor::from([10.0_f32, 20.0]), -0.1)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "axpy")]
    #[inline]
    pub fn add_scaled(&self, other: &Self, alpha: impl Into<Scalar>) -> Result<Self> {
        self.add_scaled_by(other, alpha.into())
    }

    fn add_scaled_by(&self, other: &Self, alpha: Scalar) -> Result<Self> {
        const NAME: &str = "add_scaled";
        if let Some(out) =
            AutocastPolicy::Promote.apply([self, other], [], |[a, b], []| a.add_scaled(b, alpha))
        {
            return out;
        }
        self.check_number(NAME, alpha)?;
        let (a, b, shape) = self.broadcast_operands(NAME, other)?;
        let rounded = alpha.rounded_to(self.dtype());
        let storage = self.device().backend().add_scaled(a, b, rounded)?;
        let out = Self::fresh(storage, shape);
        Ok(out.record([self, other], |_| AddScaled {
            a: self.shape().clone(),
            b: other.shape().clone(),
            alpha,
        }))
    }

    /// `self + other`, elementwise with broadcasting; for booleans, whether at least one is true.
    ///
    /// # Errors
    ///
    /// Shapes that do not broadcast, different dtypes or devices, a floating-point number with integers, any number but a
    /// boolean with booleans.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([[1_i64, 2], [3, 4]]);
    /// assert_eq!(x.add(&Tensor::from([10_i64, 20]))?.to_vec::<i64>()?, [11, 22, 13, 24]);
    /// assert_eq!(x.add(1)?.to_vec::<i64>()?, [2, 3, 4, 5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    pub fn add<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.add_value(other.into())
    }

    fn add_value(&self, other: Value<'_>) -> Result<Self> {
        if self.dtype() == DType::Bool {
            return self.logical_or(&*other.truths_like("add", self)?);
        }
        let other: &Self = match &other {
            Value::Tensor(other) => other,
            &Value::Scalar(number) => return self.with_number("add", BinaryOp::Add, number),
        };
        if let Some(out) = AutocastPolicy::Promote.apply([self, other], [], |[a, b], []| a.add(b)) {
            return out;
        }
        let out = self.binary("add", BinaryOp::Add, other)?;
        Ok(out.record_sum(BinaryOp::Add, self, other))
    }

    /// This tensor as the sum of two, or for [`BinaryOp::Sub`] as their difference.
    pub(super) fn record_sum(self, op: BinaryOp, a: &Self, b: &Self) -> Self {
        match op {
            BinaryOp::Sub => self.record([a, b], |_| Sub {
                a: a.shape().clone(),
                b: b.shape().clone(),
            }),
            _ => self.record([a, b], |_| Add {
                a: a.shape().clone(),
                b: b.shape().clone(),
            }),
        }
    }

    /// `self - other`, elementwise with broadcasting.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([5_i64, 7]);
    /// assert_eq!(x.sub(&Tensor::from([1_i64, 2]))?.to_vec::<i64>()?, [4, 5]);
    /// assert_eq!((10 - &x)?.to_vec::<i64>()?, [5, 3]);
    /// assert_eq!((1.0 - Tensor::from([0.25_f32]))?.to_vec::<f32>()?, [0.75]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    #[doc(alias = "subtract")]
    pub fn sub<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.sub_value(other.into())
    }

    fn sub_value(&self, other: Value<'_>) -> Result<Self> {
        let other: &Self = match &other {
            Value::Tensor(other) => other,
            &Value::Scalar(number) => return self.with_number("sub", BinaryOp::Sub, number),
        };
        if let Some(out) = AutocastPolicy::Promote.apply([self, other], [], |[a, b], []| a.sub(b)) {
            return out;
        }
        let out = self.binary("sub", BinaryOp::Sub, other)?;
        Ok(out.record_sum(BinaryOp::Sub, self, other))
    }

    /// `self · other`, elementwise with broadcasting; for booleans, whether both are true.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let (row, column) = (Tensor::from([1_i64, 2]), Tensor::from([[3_i64], [4]]));
    /// assert_eq!(row.mul(&column)?.to_vec::<i64>()?, [3, 6, 4, 8]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    #[doc(alias = "multiply")]
    pub fn mul<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.mul_value(other.into())
    }

    fn mul_value(&self, other: Value<'_>) -> Result<Self> {
        if self.dtype() == DType::Bool {
            return self.logical_and(&*other.truths_like("mul", self)?);
        }
        let other: &Self = match &other {
            Value::Tensor(other) => other,
            &Value::Scalar(number) => return self.with_number("mul", BinaryOp::Mul, number),
        };
        if let Some(out) = AutocastPolicy::Promote.apply([self, other], [], |[a, b], []| a.mul(b)) {
            return out;
        }
        let out = self.binary("mul", BinaryOp::Mul, other)?;
        Ok(out.record([self, other], |_| Mul {
            a: self.saved_for(other),
            b: other.saved_for(self),
            shapes: [self.shape().clone(), other.shape().clone()],
        }))
    }

    /// `self / other`, elementwise with broadcasting, for floating-point tensors.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add), and integers, whose quotients would be rounded.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([1.0_f32, -3.0]);
    /// assert_eq!(x.div(2.0)?.to_vec::<f32>()?, [0.5, -1.5]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[inline]
    #[doc(alias = "divide")]
    #[doc(alias = "true_divide")]
    pub fn div<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.div_value(other.into())
    }

    fn div_value(&self, other: Value<'_>) -> Result<Self> {
        let other: &Self = match &other {
            Value::Tensor(other) => other,
            &Value::Scalar(number) => return self.with_number("div", BinaryOp::Div, number),
        };
        if let Some(out) = AutocastPolicy::Promote.apply([self, other], [], |[a, b], []| a.div(b)) {
            return out;
        }
        let out = self.binary("div", BinaryOp::Div, other)?;
        Ok(out.record([self, other], |_| Div {
            a: self.saved_for(other),
            from: self.shape().clone(),
            b: other.clone(),
        }))
    }
}

struct Add {
    a: Shape,
    b: Shape,
}

impl Function for Add {
    fn name(&self) -> &'static str {
        "add"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        two(
            ctx,
            || ctx.grad().sum_to(&self.a),
            || ctx.grad().sum_to(&self.b),
        )
    }
}

/// An operation with a number, whose derivative is 1 or the number itself.
struct WithNumber {
    name: &'static str,
    op: BinaryOp,
    number: Scalar,
}

impl Function for WithNumber {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        one(match self.op {
            BinaryOp::Mul | BinaryOp::Div => {
                ctx.grad().with_number(self.name, self.op, self.number)?
            }
            _ => ctx.grad().clone(),
        })
    }
}

struct AddScaled {
    a: Shape,
    b: Shape,
    alpha: Scalar,
}

impl Function for AddScaled {
    fn name(&self) -> &'static str {
        "add_scaled"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        two(
            ctx,
            || ctx.grad().sum_to(&self.a),
            || ctx.grad().mul(self.alpha)?.into_sum_to(&self.b),
        )
    }
}

struct Sub {
    a: Shape,
    b: Shape,
}

impl Function for Sub {
    fn name(&self) -> &'static str {
        "sub"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        two(
            ctx,
            || ctx.grad().sum_to(&self.a),
            || ctx.grad().neg()?.into_sum_to(&self.b),
        )
    }
}

struct Mul {
    a: Option<Tensor>,
    b: Option<Tensor>,
    shapes: [Shape; 2],
}

impl Function for Mul {
    fn name(&self) -> &'static str {
        "mul"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { a, b, shapes } = self;
        let slope = |shape| move |factor: &Tensor| ctx.grad().mul(factor)?.into_sum_to(shape);
        let first = by_saved(ctx, 0, b.as_ref(), slope(&shapes[0]))?;
        Ok([first, by_saved(ctx, 1, a.as_ref(), slope(&shapes[1]))?].into())
    }
}

struct Div {
    a: Option<Tensor>,
    from: Shape,
    b: Tensor,
}

impl Function for Div {
    fn name(&self) -> &'static str {
        "div"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { a, from, b } = self;
        let first = || ctx.grad().div(b)?.into_sum_to(from);
        let first = ctx.needs(0).then(first).transpose()?;
        let second = |a: &Tensor| {
            let ratio = (a.div(b)? / b)?;
            ((-ratio)? * ctx.grad())?.into_sum_to(b.shape())
        };
        Ok([first, by_saved(ctx, 1, a.as_ref(), second)?].into())
    }
}
