//! Comparisons and `where`.

use std::borrow::Cow;

use super::{AutocastPolicy, Value};
use crate::backend::CompareOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, one, two};
use crate::{DType, DTypeError, Result, Scalar, Shape, default_dtype};

/// Comparisons give a `Bool` tensor, broadcast, and have no gradient.
impl Tensor {
    /// `self = other`, elementwise.
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
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    /// assert_eq!(x.eq(2.0)?.to_vec::<bool>()?, [false, true, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn eq<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.compare("eq", CompareOp::Eq, other.into())
    }

    /// `self ≠ other`, elementwise.
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
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    /// assert_eq!(x.ne(2.0)?.to_vec::<bool>()?, [true, false, true]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "not_equal")]
    pub fn ne<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.compare("ne", CompareOp::Ne, other.into())
    }

    /// `self < other`, elementwise.
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
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    /// assert_eq!(x.lt(2.0)?.to_vec::<bool>()?, [true, false, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "less")]
    pub fn lt<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.compare("lt", CompareOp::Lt, other.into())
    }

    /// `self ≤ other`, elementwise.
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
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    /// assert_eq!(x.le(2.0)?.to_vec::<bool>()?, [true, true, false]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "less_equal")]
    pub fn le<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.compare("le", CompareOp::Le, other.into())
    }

    /// `self > other`, elementwise.
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
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    /// assert_eq!(x.gt(2.0)?.to_vec::<bool>()?, [false, false, true]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "greater")]
    pub fn gt<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.compare("gt", CompareOp::Gt, other.into())
    }

    /// `self ≥ other`, elementwise.
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
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    /// assert_eq!(x.ge(2.0)?.to_vec::<bool>()?, [false, true, true]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "greater_equal")]
    pub fn ge<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
        self.compare("ge", CompareOp::Ge, other.into())
    }
}

impl Tensor {
    fn compare(&self, name: &'static str, op: CompareOp, other: Value<'_>) -> Result<Self> {
        if let Value::Tensor(other) = &other
            && let Some(out) = AutocastPolicy::Promote.apply([self, other], [], |[a, b], []| {
                a.compare(name, op, b.into())
            })
        {
            return out;
        }
        let other = match other.fit_to(name, self)? {
            Value::Tensor(other) => other,
            Value::Scalar(number) => {
                let backend = self.device().backend();
                return self.each(name, |x| backend.compare_scalar(op, x, number));
            }
        };
        let backend = self.device().backend();
        if self.shape() == other.shape() {
            self.storage.check_plain(name)?;
            other.storage.check_plain(name)?;
            return self.each_pair(&other, |a, b| backend.compare(op, a, b));
        }
        let shape = self.shape().broadcast(name, other.shape())?;
        shape.checked_numel(name, 1)?;
        let (a, b) = (
            self.operand_as(name, &shape)?,
            other.operand_as(name, &shape)?,
        );
        Ok(Self::fresh(backend.compare(op, a, b)?, shape))
    }

    /// The element of `a` where this `Bool` tensor is true, else that of `b`, with broadcasting:
    /// PyTorch's `torch.where(self, a, b)`.
    ///
    /// A number takes the dtype of the other tensor; for two numbers, the result has the default dtype if one is
    /// floating-point, otherwise `I64`.
    ///
    /// # Errors
    ///
    /// A condition that is not `Bool`, shapes that do not broadcast, different dtypes or devices, a
    /// floating-point number beside integers.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Tensor;
    ///
    /// let x = Tensor::from([-1.0_f32, 2.0]);
    /// assert_eq!(x.gt(0.0)?.where_(&x, 0.0)?.to_vec::<f32>()?, [0.0, 2.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "where")]
    #[inline]
    pub fn where_<'a>(&self, a: impl Into<Value<'a>>, b: impl Into<Value<'a>>) -> Result<Self> {
        self.where_values(a.into(), b.into())
    }

    fn where_values(&self, a: Value<'_>, b: Value<'_>) -> Result<Self> {
        const NAME: &str = "where";
        if self.dtype() != DType::Bool {
            let (dtype, needs) = (self.dtype(), "a bool condition");
            return Err(DTypeError::Unsupported {
                op: NAME,
                dtype,
                needs,
            }
            .into());
        }
        let (a, b) = match (a, b) {
            (Value::Tensor(a), Value::Tensor(b)) => (a, b),
            (Value::Tensor(a), Value::Scalar(b)) => return Self::fill_where(a, self, false, b),
            (Value::Scalar(a), Value::Tensor(b)) => return Self::fill_where(b, self, true, a),
            (Value::Scalar(a), Value::Scalar(b)) => return self.either(a, b),
        };
        if let Some(out) =
            AutocastPolicy::Promote.apply([&a, &b], [], |[a, b], []| self.where_(a, b))
        {
            return out;
        }
        a.check_same(NAME, &b)?;
        self.check_device(NAME, &a)?;
        let shape = a
            .shape()
            .broadcast(NAME, b.shape())?
            .broadcast(NAME, self.shape())?;
        shape.checked_numel(NAME, a.dtype().size_in_bytes())?;
        let condition = self.operand_as(NAME, &shape)?;
        let backend = self.device().backend();
        if a.edge.is_none() && b.edge.is_none() {
            let [a, b] = [a, b].map(|x| Self::take_operand_as(x, NAME, &shape));
            return Ok(Self::fresh(backend.select(condition, a?, b?)?, shape));
        }
        let (a, b) = (&*a, &*b);
        let [of_a, of_b] = [a, b].map(|x| x.operand_as(NAME, &shape));
        let storage = backend.select(condition, of_a?, of_b?)?;
        Ok(
            Self::fresh(storage, shape.clone()).record([a, b], |_| Where {
                condition: self.clone(),
                a: a.shape().clone(),
                b: b.shape().clone(),
            }),
        )
    }

    /// One of two numbers, in their common dtype.
    fn either(&self, a: Scalar, b: Scalar) -> Result<Self> {
        let dtype = match (a, b) {
            (Scalar::Bool(_), Scalar::Bool(_)) => DType::Bool,
            _ if a.is_float() || b.is_float() => default_dtype(),
            _ => DType::I64,
        };
        for number in [a, b] {
            number.check_fits("where", dtype)?;
        }
        let b = Self::full((), b, (dtype, &self.device()))?;
        Self::fill_where(Cow::Owned(b), self, true, a)
    }

    /// The elements, with a number where `mask` is `on`, with broadcasting.
    fn fill_where(x: Cow<'_, Self>, mask: &Self, on: bool, number: Scalar) -> Result<Self> {
        const NAME: &str = "where";
        let number = x.number(NAME, number)?;
        mask.check_device(NAME, &x)?;
        let shape = x.shape().broadcast(NAME, mask.shape())?;
        shape.checked_numel(NAME, x.dtype().size_in_bytes())?;
        let condition = mask.operand_as(NAME, &shape)?;
        let backend = mask.device().backend();
        if x.edge.is_none() {
            let x = Self::take_operand_as(x, NAME, &shape)?;
            return Ok(Self::fresh(
                backend.masked_fill(x, condition, on, number)?,
                shape,
            ));
        }
        let operand = x.operand_as(NAME, &shape)?;
        let storage = backend.masked_fill(operand, condition, on, number)?;
        Ok(Self::fresh(storage, shape).record([&*x], |_| MaskedFill {
            mask: mask.clone(),
            on,
            from: x.shape().clone(),
        }))
    }
}

/// A number where a mask is `on`.
struct MaskedFill {
    mask: Tensor,
    on: bool,
    from: Shape,
}

impl Function for MaskedFill {
    fn name(&self) -> &'static str {
        "where"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { mask, on, from } = self;
        let grad = Tensor::fill_where(Cow::Borrowed(ctx.grad()), mask, *on, 0.into())?;
        one(grad.sum_to(from)?)
    }
}

struct Where {
    condition: Tensor,
    a: Shape,
    b: Shape,
}

impl Function for Where {
    fn name(&self) -> &'static str {
        "where"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        two(
            ctx,
            || self.condition.where_(ctx.grad(), 0.0)?.sum_to(&self.a),
            || self.condition.where_(0.0, ctx.grad())?.sum_to(&self.b),
        )
    }
}
