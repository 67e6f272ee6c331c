//! The operations that kernels need of an element type.

use half::{bf16, f16};
use ndarray::LinalgScalar;

use super::Element;
use super::fmod;
use super::gemm::{Matrix, MatrixMut, multiply};
use super::narrow::Widened;
use super::simd::Transpose;
use crate::{Complex, F8E4M3, F8E5M2, Scalar};

/// Elements of one number.
pub(super) trait FromScalar: Element {
    fn from_scalar(value: Scalar) -> Self;
}

/// Conversions between the element types that are computed with.
pub(super) trait Convert: FromScalar {
    fn to_f64(self) -> f64;
    fn to_i64(self) -> i64;

    /// Rounded once, where the way through `f64` would round twice.
    #[inline]
    fn to_f32(self) -> f32 {
        self.to_f64() as f32
    }
}

/// An integer of a scalar, truncated as in PyTorch.
fn int(value: Scalar) -> i64 {
    match value {
        Scalar::Int(value) => value,
        other => other.to_f64() as i64,
    }
}

macro_rules! convert {
    ($($type:ty: |$v:ident| $to_f64:expr, $to_i64:expr, |$s:ident| $from:expr;)*) => {$(
        impl Convert for $type {
            #[inline]
            fn to_f64(self) -> f64 {
                let $v = self;
                $to_f64
            }

            #[inline]
            fn to_i64(self) -> i64 {
                let $v = self;
                $to_i64
            }
        }

        from_scalar! { $type: |$s| $from; }
    )*};
}

macro_rules! from_scalar {
    ($($type:ty: |$s:ident| $from:expr;)*) => {$(
        impl FromScalar for $type {
            fn from_scalar($s: Scalar) -> Self {
                $from
            }
        }
    )*};
}

from_scalar! {
    i64: |s| int(s);
    i8: |s| int(s) as Self;
    i16: |s| int(s) as Self;
    u16: |s| int(s) as Self;
    u32: |s| int(s) as Self;
    F8E4M3: |s| Self::from_f32(s.to_f64() as f32);
    F8E5M2: |s| Self::from_f32(s.to_f64() as f32);
    Complex<f32>: |s| Self::new(s.to_f64() as f32, 0.0);
}

convert! {
    f32: |v| f64::from(v), v as i64, |s| s.to_f64() as Self;
    f64: |v| v, v as i64, |s| s.to_f64();
    f16: |v| Self::to_f64(v), Self::to_f64(v) as i64, |s| Self::from_f32(s.to_f64() as f32);
    bf16: |v| Self::to_f64(v), Self::to_f64(v) as i64, |s| Self::from_f32(s.to_f64() as f32);
    i32: |v| f64::from(v), i64::from(v), |s| int(s) as Self;
    u8: |v| f64::from(v), i64::from(v), |s| int(s) as Self;
    bool: |v| f64::from(u8::from(v)), i64::from(v), |s| s.to_f64() != 0.0;
}

impl Convert for i64 {
    #[inline]
    fn to_f64(self) -> f64 {
        self as f64
    }

    #[inline]
    fn to_i64(self) -> i64 {
        self
    }

    #[inline]
    fn to_f32(self) -> f32 {
        self as f32
    }
}

/// The types in which the CPU computes; half precision goes through `f32`.
pub(super) trait Number: Convert + Widened + PartialOrd + LinalgScalar + Transpose {
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// `None` where an integer cannot be divided without rounding.
    fn over(self, other: Self) -> Option<Self>;
    fn power(self, other: Self) -> Self;
    fn negate(self) -> Self;
    fn magnitude(self) -> Self;
    fn signum(self) -> Self;
    fn is_nan(self) -> bool;
    /// The greatest whole number that is at most the quotient; 0 if integers are divided by 0.
    fn floor_divided(self, other: Self) -> Self;
    /// The same from the remainder of the division by `other`, which is not 0, with the sign of `self`.
    fn floor_quotient(self, other: Self, remainder: Self) -> Self;
    /// The remainder of [`floor_divided`](Self::floor_divided), with the sign of `other`.
    fn remainder(self, other: Self) -> Self;
    /// The remainder of a division by `other`, to which `other` is added if the signs differ.
    fn with_sign_of(self, other: Self) -> Self;
    /// The remainder of division rounded toward 0, with the sign of `self`.
    fn fmod(self, other: Self) -> Self;
    /// These three are asked of floating-point numbers only.
    fn atan2(self, other: Self) -> Self;
    fn hypot(self, other: Self) -> Self;
    fn copysign(self, other: Self) -> Self;

    /// The matrix product, added to `out` if `keep`; otherwise it is overwritten.
    fn multiply(a: Matrix<'_, Self>, b: Matrix<'_, Self>, keep: bool, out: MatrixMut<'_, Self>);

    /// The greater, NaN if either is.
    #[inline]
    fn greater(self, other: Self) -> Self {
        if (self > other) | self.is_nan() {
            self
        } else {
            other
        }
    }

    /// The smaller, NaN if either is.
    #[inline]
    fn smaller(self, other: Self) -> Self {
        if (self < other) | self.is_nan() {
            self
        } else {
            other
        }
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        /// Integers wrap around as in PyTorch.
        #[allow(clippy::cast_lossless, unused_comparisons)]
        impl Number for $type {
            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }

            #[inline]
            fn over(self, _: Self) -> Option<Self> {
                None
            }

            fn power(self, other: Self) -> Self {
                // A negative exponent leaves 1 of 1, ±1 of -1 and 0 of the rest.
                match u32::try_from(other) {
                    Ok(exponent) => self.wrapping_pow(exponent),
                    Err(_) if self == 1 => 1,
                    Err(_) if self.wrapping_add(1) == 0 && self < 1 => {
                        if other % 2 == 0 { 1 } else { self }
                    }
                    Err(_) => 0,
                }
            }

            #[inline]
            fn negate(self) -> Self {
                self.wrapping_neg()
            }

            #[inline]
            fn magnitude(self) -> Self {
                if self < 0 { self.wrapping_neg() } else { self }
            }

            #[inline]
            fn signum(self) -> Self {
                if self < 0 { (0 as Self).wrapping_sub(1) } else { (self > 0) as Self }
            }

            #[inline]
            fn is_nan(self) -> bool {
                false
            }

            fn floor_divided(self, other: Self) -> Self {
                if other == 0 {
                    return 0;
                }
                self.floor_quotient(other, self.wrapping_rem(other))
            }

            #[inline]
            fn floor_quotient(self, other: Self, remainder: Self) -> Self {
                let below = (remainder != 0) & ((remainder < 0) != (other < 0));
                self.wrapping_div(other) - Self::from(below)
            }

            fn remainder(self, other: Self) -> Self {
                self.fmod(other).with_sign_of(other)
            }

            #[inline]
            fn with_sign_of(self, other: Self) -> Self {
                // A branch would be mispredicted half of the time.
                let is_wrong = (self != 0) & ((self < 0) != (other < 0));
                std::hint::select_unpredictable(is_wrong, self.wrapping_add(other), self)
            }

            fn fmod(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }

            fn atan2(self, _: Self) -> Self {
                self
            }

            fn hypot(self, _: Self) -> Self {
                self
            }

            fn copysign(self, _: Self) -> Self {
                self
            }

            fn multiply(a: Matrix<'_, Self>, b: Matrix<'_, Self>, keep: bool, out: MatrixMut<'_, Self>) {
                for (i, out) in out.into_rows().into_iter().enumerate() {
                    if !keep {
                        out.fill(0);
                    }
                    for p in 0..a.columns() {
                        let factor = a.at(i, p);
                        for (j, sum) in out.iter_mut().enumerate() {
                            *sum = sum.wrapping_add(factor.wrapping_mul(b.at(p, j)));
                        }
                    }
                }
            }
        }
    )*};
}

integers!(i64);

macro_rules! floats {
    ($($type:ty: $fmod:path),*) => {$(
        impl Number for $type {
            #[inline]
            fn plus(self, other: Self) -> Self {
                self + other
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self - other
            }

            #[inline]
            fn times(self, other: Self) -> Self {
                self * other
            }

            #[inline]
            fn over(self, other: Self) -> Option<Self> {
                Some(self / other)
            }

            #[inline]
            fn power(self, other: Self) -> Self {
                self.powf(other)
            }

            #[inline]
            fn negate(self) -> Self {
                -self
            }

            #[inline]
            fn magnitude(self) -> Self {
                self.abs()
            }

            #[inline]
            fn signum(self) -> Self {
                // -0.0 and NaN have sign 0 in PyTorch.
                if self > 0.0 { 1.0 } else if self < 0.0 { -1.0 } else { 0.0 }
            }

            #[inline]
            fn is_nan(self) -> bool {
                self.is_nan()
            }

            fn floor_divided(self, other: Self) -> Self {
                if other == 0.0 {
                    return self / other;
                }
                self.floor_quotient(other, $fmod(self, other))
            }

            #[inline(always)]
            #[allow(clippy::inline_always)]
            fn floor_quotient(self, other: Self, remainder: Self) -> Self {
                let below = (remainder != 0.0) & ((remainder < 0.0) != (other < 0.0));
                let quotient = (self - remainder) / other - if below { 1.0 } else { 0.0 };
                let whole = quotient.floor();
                let whole = whole + if quotient - whole > 0.5 { 1.0 } else { 0.0 };
                // A zero with the sign of the quotient.
                let zero = (0.0 as Self).copysign(self) * (1.0 as Self).copysign(other);
                if quotient == 0.0 { zero } else { whole }
            }

            fn remainder(self, other: Self) -> Self {
                $fmod(self, other).with_sign_of(other)
            }

            #[inline]
            fn with_sign_of(self, other: Self) -> Self {
                // A branch would be mispredicted half of the time.
                let is_wrong = (self != 0.0) & ((self < 0.0) != (other < 0.0));
                std::hint::select_unpredictable(is_wrong, self + other, self)
            }

            fn fmod(self, other: Self) -> Self {
                $fmod(self, other)
            }

            fn atan2(self, other: Self) -> Self {
                // The platform's function for `f32` may be off by more than a unit in the last place.
                self.to_f64().atan2(other.to_f64()) as Self
            }

            fn hypot(self, other: Self) -> Self {
                self.hypot(other)
            }

            #[inline]
            fn copysign(self, other: Self) -> Self {
                self.copysign(other)
            }

            fn multiply(
                a: Matrix<'_, Self>,
                b: Matrix<'_, Self>,
                keep: bool,
                out: MatrixMut<'_, Self>,
            ) {
                multiply(1.0, a, b, keep, out);
            }
        }
    )*};
}

floats!(f32: fmod::single, f64: fmod::double);
