//! The numbers of the CPU, as formulas compute with them.
#![allow(clippy::inline_always)]

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::Real;
use super::float::Float;
use super::lanes::number;

/// A number, of which as many as a register holds are computed at once.
#[derive(Clone, Copy)]
pub(super) struct Lane<T>(pub(super) T);

impl<T: Float> Neg for Lane<T> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Self(self.0.negate())
    }
}

macro_rules! operators {
    ($($operator:ident: $method:ident, $symbol:tt;)*) => {$(
        impl<T: Float> $operator for Lane<T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self(self.0 $symbol other.0)
            }
        }

        impl<T: Float> $operator<f64> for Lane<T> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: f64) -> Self {
                Self(self.0 $symbol number::<T>(other))
            }
        }
    )*};
}

operators! {
    Add: add, +;
    Sub: sub, -;
    Mul: mul, *;
    Div: div, /;
}

impl<T: Float> Real for Lane<T> {
    #[inline(always)]
    fn abs(self) -> Self {
        Self(self.0.magnitude())
    }

    #[inline(always)]
    fn recip(self) -> Self {
        Self(self.0.recip())
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(self.0.sqrt())
    }

    #[inline(always)]
    fn sign(self) -> Self {
        Self(self.0.signum())
    }

    #[inline(always)]
    fn maximum(self, other: Self) -> Self {
        Self(self.0.greater(other.0))
    }

    #[inline(always)]
    fn clamp(self, min: f64, max: f64) -> Self {
        Self(self.0.clamped([number(min), number(max)]))
    }

    #[inline(always)]
    fn add_scaled(self, y: Self, s: f64) -> Self {
        Self(self.0 + number::<T>(s) * y.0)
    }

    #[inline(always)]
    fn add_product(self, s: f64, y: Self, z: Self) -> Self {
        Self(self.0 + number::<T>(s) * y.0 * z.0)
    }

    #[inline(always)]
    fn add_quotient(self, s: f64, y: Self, z: Self) -> Self {
        Self(self.0 + number::<T>(s) * y.0 / z.0)
    }

    #[inline(always)]
    fn lerp(self, y: Self, w: f64) -> Self {
        match w < 0.5 {
            true => self.add_scaled(y - self, w),
            false => y.add_scaled(y - self, w - 1.0),
        }
    }

    #[inline(always)]
    fn where_positive(self, y: Self, z: Self) -> Self {
        if self.0 > T::zero() { y } else { z }
    }
}
