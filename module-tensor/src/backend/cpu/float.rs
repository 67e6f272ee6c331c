//! Functions of floating-point numbers.

// A loop over a function is made of vector instructions only if the function is inlined into it.
#![allow(clippy::inline_always)]

use super::number::Number;
use super::vector::{double, single};

/// The floating-point types in which the CPU computes.
pub(super) trait Float: Number + super::gemm::Tile {
    const NEG_INFINITY: Self;

    /// A double, rounded.
    fn narrowed(value: f64) -> Self;
    fn exp(self) -> Self;
    /// The bits of [`exp`](Self::exp), of a number below 1.
    fn exp_of_negative(self) -> Self;
    /// `self · factor + term`, rounded once.
    fn times_plus(self, factor: Self, term: Self) -> Self;
    fn ln(self) -> Self;
    fn sqrt(self) -> Self;
    fn recip(self) -> Self;
    fn tanh(self) -> Self;
    fn sigmoid(self) -> Self;
    fn clamped(self, bounds: [Self; 2]) -> Self;
}

macro_rules! floats {
    ($($type:ident: $vector:ident;)*) => {$(
        impl Float for $type {
            const NEG_INFINITY: Self = Self::NEG_INFINITY;

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation)]
            fn narrowed(value: f64) -> Self {
                value as Self
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }

            #[inline(always)]
            fn recip(self) -> Self {
                self.recip()
            }

            #[inline(always)]
            fn exp(self) -> Self {
                $vector::exp(self)
            }

            #[inline(always)]
            fn exp_of_negative(self) -> Self {
                $vector::exp_of_negative(self)
            }

            #[inline(always)]
            fn times_plus(self, factor: Self, term: Self) -> Self {
                self.mul_add(factor, term)
            }

            #[inline(always)]
            fn ln(self) -> Self {
                $vector::ln(self)
            }

            #[inline(always)]
            fn tanh(self) -> Self {
                $vector::tanh(self)
            }

            #[inline(always)]
            fn sigmoid(self) -> Self {
                1.0 / (1.0 + $vector::exp(-self))
            }

            #[inline(always)]
            fn clamped(self, [low, high]: [Self; 2]) -> Self {
                let raised = if self < low { low } else { self };
                if raised > high { high } else { raised }
            }
        }
    )*};
}

floats!(
    f32: single;
    f64: double;
);
