//! `+`, `-`, `*`, `/` and unary `-`: the methods under their signs, with their `Result`.

use std::ops;

use super::Value;
use crate::Result;
use crate::tensor::Tensor;

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {$(
        impl<'a, V: Into<Value<'a>>> ops::$trait<V> for &Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: V) -> Result<Tensor> {
                Tensor::$method(self, other)
            }
        }

        impl<'a, V: Into<Value<'a>>> ops::$trait<V> for Tensor {
            type Output = Result<Tensor>;

            fn $method(self, other: V) -> Result<Tensor> {
                Tensor::$method(&self, other)
            }
        }
    )*};
}

operators!(Add add, Sub sub, Mul mul, Div div);

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
