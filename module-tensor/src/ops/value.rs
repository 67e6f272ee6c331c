//! The second operand of a binary operation: a tensor or a number.

use std::borrow::Cow;
use std::iter::once;

use crate::backend::BinaryOp;
use crate::tensor::{Backward, Gradients, Tensor, one, two};
use crate::{DType, DTypeError, Result, Scalar};

/// The other side of a binary operation: a tensor, or a number that takes the tensor's dtype.
///
/// Methods take `impl Into<Value>`, so both `x.mul(&y)` and `x.mul(2.0)` work.
///
/// # Example
///
/// ```
/// use module_tensor::Tensor;
///
/// let x = Tensor::from([1.0_f32, 2.0]);
/// assert_eq!(x.add(1.0)?.to_vec::<f32>()?, x.add(&Tensor::from([1.0_f32]))?.to_vec::<f32>()?);
/// # Ok::<(), module_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub enum Value<'a> {
    /// A tensor.
    Tensor(Cow<'a, Tensor>),
    /// A number.
    Scalar(Scalar),
}

impl From<Tensor> for Value<'_> {
    #[inline]
    fn from(tensor: Tensor) -> Self {
        Self::Tensor(Cow::Owned(tensor))
    }
}

impl<'a> From<&'a Tensor> for Value<'a> {
    #[inline]
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(Cow::Borrowed(tensor))
    }
}

macro_rules! value_from {
    ($($type:ty),*) => {$(
        impl From<$type> for Value<'_> {
            fn from(value: $type) -> Self {
                Self::Scalar(value.into())
            }
        }
    )*};
}

value_from!(f32, f64, i32, i64, u8, u32, usize, isize, bool, Scalar);

impl<'a> Value<'a> {
    /// The tensor itself, or the number as a zero-dimensional tensor like `x`.
    pub(super) fn like(self, op: &'static str, x: &Tensor) -> Result<Cow<'a, Tensor>> {
        match self {
            Self::Tensor(tensor) => {
                x.check_same(op, &tensor)?;
                Ok(tensor)
            }
            Self::Scalar(number) => {
                let number = x.number(op, number)?;
                Tensor::full((), number, (x.dtype(), &x.device())).map(Cow::Owned)
            }
        }
    }
}

impl<'a> Value<'a> {
    /// [`like`](Self::like) for booleans, with which PyTorch makes integers of any other number.
    pub(super) fn truths_like(self, op: &'static str, x: &Tensor) -> Result<Cow<'a, Tensor>> {
        if let Self::Scalar(Scalar::Int(_) | Scalar::Float(_)) = self {
            let needs = "a boolean as the other operand; cast the tensor with `to_dtype`";
            let dtype = DType::Bool;
            return Err(DTypeError::Unsupported { op, dtype, needs }.into());
        }
        self.like(op, x)
    }
}

impl Value<'_> {
    /// Checks that the tensor has the dtype and the device of `x`, or rounds the number to the dtype of `x`.
    pub(super) fn fit_to(self, op: &'static str, x: &Tensor) -> Result<Self> {
        match self {
            Self::Tensor(ref tensor) => x.check_same(op, tensor).map(|()| self),
            Self::Scalar(number) => x.number(op, number).map(Self::Scalar),
        }
    }

    /// The tensor, if it is one.
    pub(super) fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Scalar(_) => None,
        }
    }

    /// The same value, untracked.
    pub(super) fn detach(&self) -> Value<'static> {
        match self {
            Self::Tensor(tensor) => tensor.detach().into(),
            Self::Scalar(number) => (*number).into(),
        }
    }

    /// The inputs of an operation of `x` and this value.
    pub(super) fn inputs<'x>(&'x self, x: &'x Tensor) -> impl Iterator<Item = &'x Tensor> {
        once(x).chain(self.tensor())
    }

    /// The gradients of an operation of a tensor and this value: a number has none.
    pub(super) fn gradients(
        &self,
        ctx: &Backward,
        first: impl Fn() -> Result<Tensor>,
        second: impl Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Gradients> {
        match self {
            Self::Tensor(tensor) => two(ctx, first, || second(tensor)),
            Self::Scalar(_) => one(first()?),
        }
    }
}

impl Tensor {
    /// Refuses a number whose fraction the tensor's dtype would truncate.
    pub(super) fn check_number(&self, op: &'static str, number: Scalar) -> Result<()> {
        if self.dtype().is_floating_point() || !number.is_float() {
            return Ok(());
        }
        let needs = "a floating-point tensor with a floating-point scalar; cast with `to_dtype`";
        Err(self.dtype().error(op, needs))
    }

    /// Rounds a number to this tensor's dtype; a number that does not fit, or whose fraction would be truncated, is
    /// refused.
    pub(super) fn number(&self, op: &'static str, number: Scalar) -> Result<Scalar> {
        self.check_number(op, number)?;
        number.check_fits(op, self.dtype())?;
        Ok(number.rounded_to(self.dtype()))
    }

    /// An operation with a value that [`fit_to`](Value::fit_to) has checked.
    pub(super) fn binary_with(
        &self,
        name: &'static str,
        op: BinaryOp,
        other: &Value<'_>,
    ) -> Result<Self> {
        match other {
            Value::Tensor(other) => self.binary(name, op, other),
            Value::Scalar(number) => self.binary_scalar(name, op, *number),
        }
    }
}
