//! `+`, `-`, `*`, `/` and unary `-`: the methods as operators, which return a `Result`.
//!
//! A number may be on either side, on the left as `f64`, `i64` or [`Scalar`]: `(1.0 - &x)?`. There is no operator for other
//! number types on the left, because the type of a literal would then be ambiguous: write `Scalar::from(n) * &x`, or
//! `&x * n`.
//!
//! The result may lie in the memory of an operand that is a value and not a reference, if nothing else holds it.
//!
//! A `Result` may be on either side of a tensor, so that sums of calls read as in Python: `(a.call(x)? + b.call(y) + c)?`.
//! It cannot be combined with another `Result` or a number, because only the standard library may implement such an
//! operator: use `?` there.

use std::ops;

use super::Value;
use crate::backend::{BinaryOp, UnaryOp};
use crate::tensor::Tensor;
use crate::{Result, Scalar};

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {$(
        impl<'a, V: Into<Value<'a>>> ops::$trait<V> for &Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: V) -> Result<Tensor> {
                self.binary_into(BinaryOp::$trait, other.into(), Tensor::$method)
            }
        }

        impl<'a, V: Into<Value<'a>>> ops::$trait<V> for Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: V) -> Result<Tensor> {
                let op = BinaryOp::$trait;
                self.binary_over(op, other.into(), |a, b| a.binary_into(op, b, Tensor::$method))
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul, Div div);

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
                left::$method(self.into(), tensor)
            }
        }
    )*};
}

// One type of each kind, so that the type of a literal is unambiguous: with two, `(1.0 - &x)?` would not determine it.
numbers_on_the_left!(f64, i64, Scalar);

/// The operations with a number on the left, based on those with a number on the right.
mod left {
    use std::borrow::Borrow;
    use std::ops::{Add, Mul, Neg};

    use super::{Result, Tensor};
    use crate::Scalar;

    pub(super) fn add<X: Add<Scalar, Output = Result<Tensor>>>(number: Scalar, x: X) -> X::Output {
        x + number
    }

    pub(super) fn sub<X: Borrow<Tensor> + Neg<Output = Result<Tensor>>>(
        number: Scalar,
        x: X,
    ) -> X::Output {
        x.borrow().check_number("sub", number)?;
        (-x)? + number
    }

    pub(super) fn mul<X: Mul<Scalar, Output = Result<Tensor>>>(number: Scalar, x: X) -> X::Output {
        x * number
    }

    pub(super) fn div(number: Scalar, x: impl Borrow<Tensor>) -> Result<Tensor> {
        x.borrow().check_floating("div")?;
        x.borrow().reciprocal()? * number
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
        self.unary_over(UnaryOp::Neg, Tensor::neg)
    }
}
