//! Comparisons and choices.

use std::borrow::Cow;

use super::Value;
use crate::backend::CompareOp;
use crate::tensor::{Backward, Function, Gradients, Tensor, two};
use crate::{DType, ErrorKind, Result, Scalar, Shape, default_dtype};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        /// Comparisons give a `Bool` tensor, broadcast, and have no gradient.
        impl Tensor {$(
            $(#[$doc])*
            ///
            /// # Errors
            ///
            /// As [`add`](Self::add).
            pub fn $name<'a>(&self, other: impl Into<Value<'a>>) -> Result<Self> {
                self.compare(stringify!($name), CompareOp::$op, other.into())
            }
        )*}
    };
}

comparisons! {
    /// `self = other`, elementwise.
    eq Eq;
    /// `self ≠ other`, elementwise.
    ne Ne;
    /// `self < other`, elementwise.
    lt Lt;
    /// `self ≤ other`, elementwise.
    le Le;
    /// `self > other`, elementwise.
    gt Gt;
    /// `self ≥ other`, elementwise.
    ge Ge;
}

impl Tensor {
    fn compare(&self, name: &'static str, op: CompareOp, other: Value<'_>) -> Result<Self> {
        let other = other.like(name, self)?;
        let shape = self.shape().broadcast(name, other.shape())?;
        shape.checked_numel(name, 1)?;
        let (a, b) = (
            self.operand_as(name, &shape)?,
            other.operand_as(name, &shape)?,
        );
        let storage = self.device().backend().compare(op, a, b)?;
        Ok(Self::fresh(storage, shape))
    }

    /// The element of `a` where this `Bool` tensor is true, else that of `b`, with broadcasting:
    /// PyTorch's `torch.where(self, a, b)`.
    ///
    /// A number takes the dtype of the tensor beside it; of two numbers a floating-point one gives the
    /// default dtype, and integers give `I64`.
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
    pub fn where_<'a>(&self, a: impl Into<Value<'a>>, b: impl Into<Value<'a>>) -> Result<Self> {
        const NAME: &str = "where";
        if self.dtype() != DType::Bool {
            let (dtype, needs) = (self.dtype(), "a bool condition");
            return Err(ErrorKind::UnsupportedDType {
                op: NAME,
                dtype,
                needs,
            }
            .into());
        }
        let (a, b) = match (a.into(), b.into()) {
            (Value::Tensor(a), b) => {
                let b = b.like(NAME, &a)?;
                (a, b)
            }
            (Value::Scalar(a), Value::Tensor(b)) => (Value::Scalar(a).like(NAME, &b)?, b),
            (Value::Scalar(a), Value::Scalar(b)) => self.both(a, b)?,
        };
        let (a, b) = (&*a, &*b);
        self.check_device(NAME, a)?;
        let shape = a
            .shape()
            .broadcast(NAME, b.shape())?
            .broadcast(NAME, self.shape())?;
        shape.checked_numel(NAME, a.dtype().size_in_bytes())?;
        let stretch = |x: &Self| {
            Ok::<_, crate::Error>(
                x.with_layout(x.layout.broadcast_to(NAME, &shape)?)
                    .operand(),
            )
        };
        let storage = self
            .device()
            .backend()
            .select(stretch(self)?, stretch(a)?, stretch(b)?)?;
        Ok(
            Self::fresh(storage, shape.clone()).record([a, b], |_| Where {
                condition: self.clone(),
                a: a.shape().clone(),
                b: b.shape().clone(),
            }),
        )
    }

    /// Two numbers as tensors of the dtype that both have together.
    fn both<'a>(&self, a: Scalar, b: Scalar) -> Result<(Cow<'a, Self>, Cow<'a, Self>)> {
        let dtype = match (a, b) {
            (Scalar::Bool(_), Scalar::Bool(_)) => DType::Bool,
            _ if a.is_float() || b.is_float() => default_dtype(),
            _ => DType::I64,
        };
        let full = |number| Self::full((), number, (dtype, &self.device())).map(Cow::Owned);
        Ok((full(a)?, full(b)?))
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
        let zero = Tensor::zeros((), (ctx.grad().dtype(), &ctx.grad().device()))?;
        two(
            ctx,
            || self.condition.where_(ctx.grad(), &zero)?.sum_to(&self.a),
            || self.condition.where_(&zero, ctx.grad())?.sum_to(&self.b),
        )
    }
}
