//! `+`, `-`, `*`, `/` and unary `-` of parameters and buffers, which are read as tensors; see the
//! operators of [`Tensor`].

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::{Buffer, Parameter, Result, Scalar, Tensor, Value};

macro_rules! cells {
    ($($cell:ty),*) => {$(
        impl From<&$cell> for Value<'_> {
            fn from(cell: &$cell) -> Self {
                cell.tensor().into()
            }
        }

        impl Neg for &$cell {
            type Output = Result<Tensor>;

            fn neg(self) -> Result<Tensor> {
                Tensor::neg(&self.tensor())
            }
        }
    )*};
}

cells!(Parameter, Buffer);

/// The operators of two types, applied to their tensors.
macro_rules! operators {
    ($left:ty, $right:ty, $read:expr) => {
        operators!($left, $right, $read, Add add, Sub sub, Mul mul, Div div);
    };
    ($left:ty, $right:ty, $read:expr, $($trait:ident $method:ident),*) => {$(
        impl $trait<$right> for $left {
            type Output = Result<Tensor>;

            fn $method(self, right: $right) -> Result<Tensor> {
                let (left, right) = $read(self, right);
                $trait::$method(left, right)
            }
        }
    )*};
}

/// The operators of `cell` with each of the types on its right.
macro_rules! left {
    ($cell:ty: $($right:ty),*) => {$(
        operators!(&$cell, $right, |cell: &$cell, right| (cell.tensor(), right));
    )*};
}

/// The operators of each of the types with `cell` on its right.
macro_rules! right {
    ($cell:ty: $($left:ty),*) => {$(
        operators!($left, &$cell, |left, cell: &$cell| (left, cell.tensor()));
    )*};
}

left!(Parameter: Tensor, &Tensor, &Parameter, &Buffer, Result<Tensor>);
left!(Parameter: f32, f64, i32, i64, u8, u32, usize, isize, bool, Scalar);
left!(Buffer: Tensor, &Tensor, &Parameter, &Buffer, Result<Tensor>);
left!(Buffer: f32, f64, i32, i64, u8, u32, usize, isize, bool, Scalar);
right!(Parameter: Result<Tensor>, f64, i64, Scalar);
right!(Buffer: Result<Tensor>, f64, i64, Scalar);
