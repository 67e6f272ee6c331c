//! `+`, `-`, `*`, `/` and unary `-`: the methods as operators, which return a `Result`.
//!
//! A number may be on either side, on the left as `f64`, `i64` or [`Scalar`]: `(1.0 - &x)?`. There is no operator for other
//! number types on the left, because the type of a literal would then be ambiguous: write `Scalar::from(n) * &x`, or
//! `&x * n`.
//!
//! A `Result` may be on either side of a tensor, so that sums of calls read as in Python: `(a.call(x)? + b.call(y) + c)?`.
//! It cannot be combined with another `Result` or a number, because only the standard library may implement such an
//! operator: use `?` there.

use std::ops;

use super::Value;
use crate::tensor::Tensor;
use crate::{Result, Scalar};

macro_rules! operators {
    ($($trait:ident $method:ident $of_value:expr),*) => {$(
        impl<'a, V: Into<Value<'a>>> ops::$trait<V> for &Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: V) -> Result<Tensor> {
                Tensor::$method(self, other)
            }
        }

        impl<'a, V: Into<Value<'a>>> ops::$trait<V> for Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: V) -> Result<Tensor> {
                $of_value(self, other.into())
            }
        }
    )*};
}

// A sum or difference may be written in the memory of the left value, if nothing else holds it.
operators!(
    Add add |a, b| add_reusing_memory(a, b, 1.0, Tensor::add),
    Sub sub |a, b| add_reusing_memory(a, b, -1.0, Tensor::sub),
    Mul mul |a, b| Tensor::mul(&a, b),
    Div div |a, b| Tensor::div(&a, b)
);

/// The operators with a `Result`, whose error is passed on.
macro_rules! of_results {
    ($($trait:ident $method:ident),*) => {$(
        of_results!(@left $trait $method Tensor, &Tensor);
        of_results!(@right $trait $method Tensor, &Tensor);
    )*};
    (@left $trait:ident $method:ident $($value:ty),*) => {$(
        impl ops::$trait<Result<Tensor>> for $value {
            type Output = Result<Tensor>;

            fn $method(self, other: Result<Tensor>) -> Result<Tensor> {
                ops::$trait::$method(self, other?)
            }
        }
    )*};
    (@right $trait:ident $method:ident $($value:ty),*) => {$(
        impl ops::$trait<$value> for Result<Tensor> {
            type Output = Result<Tensor>;

            fn $method(self, other: $value) -> Result<Tensor> {
                ops::$trait::$method(self?, other)
            }
        }
    )*};
}

of_results!(Add add, Sub sub, Mul mul, Div div);

/// `a + sign·b`, in the memory of `a` if it is free, otherwise by `method`.
fn add_reusing_memory<'a>(
    a: Tensor,
    b: Value<'a>,
    sign: f64,
    method: impl Fn(&Tensor, Value<'a>) -> Result<Tensor>,
) -> Result<Tensor> {
    match &b {
        Value::Tensor(other) if a.can_add_in_place(other) => a.add_in_place(other, sign),
        _ => method(&a, b),
    }
}

macro_rules! numbers_on_the_left {
    ($($number:ty),*) => {$(
        numbers_on_the_left!($number: Add add, Sub sub, Mul mul, Div div);
    )*};
    ($number:ty: $($trait:ident $method:ident),*) => {$(
        impl ops::$trait<&Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, tensor: &Tensor) -> Result<Tensor> {
                left::$method(self.into(), tensor)
            }
        }

        impl ops::$trait<Tensor> for $number {
            type Output = Result<Tensor>;

            fn $method(self, tensor: Tensor) -> Result<Tensor> {
                left::$method(self.into(), &tensor)
            }
        }
    )*};
}

// One type of each kind, so that the type of a literal is unambiguous: with two, `(1.0 - &x)?` would not determine it.
numbers_on_the_left!(f64, i64, Scalar);

/// The operations with a number on the left, based on those with a number on the right.
mod left {
    use super::{Result, Tensor};
    use crate::Scalar;

    pub(super) fn add(number: Scalar, x: &Tensor) -> Result<Tensor> {
        x.add(number)
    }

    pub(super) fn sub(number: Scalar, x: &Tensor) -> Result<Tensor> {
        x.check_number("sub", number)?;
        x.neg()?.add(number)
    }

    pub(super) fn mul(number: Scalar, x: &Tensor) -> Result<Tensor> {
        x.mul(number)
    }

    pub(super) fn div(number: Scalar, x: &Tensor) -> Result<Tensor> {
        x.check_floating("div")?;
        x.reciprocal()?.mul(number)
    }
}

impl ops::Neg for &Tensor {
    type Output = Result<Tensor>;

    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}

impl ops::Neg for Tensor {
    type Output = Result<Tensor>;

    fn neg(self) -> Result<Tensor> {
        Tensor::neg(&self)
    }
}
