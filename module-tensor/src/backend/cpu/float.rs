//! Functions of floating-point numbers.

// A loop over a function is made of vector instructions only if the function is inlined into it.
#![allow(clippy::inline_always)]

use super::number::Number;
use super::vector::{double, single};

/// The floating-point types in which the CPU computes.
pub(super) trait Float: Number + super::gemm::Tile {
    const NEG_INFINITY: Self;

    fn exp(self) -> Self;
    fn expm1(self) -> Self;
    /// `self · factor + term`, rounded once.
    fn times_plus(self, factor: Self, term: Self) -> Self;
    fn ln(self) -> Self;
    fn log1p(self) -> Self;
    fn sqrt(self) -> Self;
    fn recip(self) -> Self;
    fn rsqrt(self) -> Self;
    fn erf(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    /// To the nearest whole number, the even one of two.
    fn round(self) -> Self;
    fn tanh(self) -> Self;
    fn sigmoid(self) -> Self;
    fn gelu(self) -> Self;
    fn gelu_tanh(self) -> Self;
    fn silu(self) -> Self;
    fn gelu_grad(self) -> Self;
    fn gelu_tanh_grad(self) -> Self;
    fn silu_grad(self) -> Self;
    fn mish(self) -> Self;
    fn mish_grad(self) -> Self;
    fn hardswish(self) -> Self;
    fn hardswish_grad(self) -> Self;
    fn hardsigmoid(self) -> Self;
    fn clamped(self, bounds: [Self; 2]) -> Self;
    fn softplus(self, beta_and_threshold: [Self; 2]) -> Self;
    fn leaky_relu(self, negative_slope: Self) -> Self;
    /// With `λ α`, `λ` and `β`.
    fn elu(self, scales: [Self; 3]) -> Self;
}

/// A function of the standard library by another name.
macro_rules! standard {
    ($($name:ident as $from:ident),*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            self.$from()
        }
    )*};
}

macro_rules! floats {
    ($($type:ident: $vector:ident, $erf:path;)*) => {$(
        impl Float for $type {
            const NEG_INFINITY: Self = Self::NEG_INFINITY;

            standard!(expm1 as exp_m1, log1p as ln_1p, sqrt as sqrt);
            standard!(recip as recip, sin as sin, cos as cos);
            standard!(floor as floor, ceil as ceil, round as round_ties_even);

            #[inline(always)]
            fn exp(self) -> Self {
                $vector::exp(self)
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
            fn rsqrt(self) -> Self {
                self.sqrt().recip()
            }

            #[inline(always)]
            fn erf(self) -> Self {
                $erf(self)
            }

            #[inline(always)]
            fn sigmoid(self) -> Self {
                1.0 / (1.0 + $vector::exp(-self))
            }

            #[inline(always)]
            fn gelu(self) -> Self {
                $vector::gelu(self)
            }

            #[inline(always)]
            fn gelu_tanh(self) -> Self {
                // √(2/π)
                let scale = std::$type::consts::FRAC_2_SQRT_PI * std::$type::consts::FRAC_1_SQRT_2;
                0.5 * self * (1.0 + $vector::tanh(scale * (self + 0.044_715 * self * self * self)))
            }

            #[inline(always)]
            fn silu(self) -> Self {
                self / (1.0 + $vector::exp(-self))
            }

            #[inline(always)]
            fn gelu_grad(self) -> Self {
                $vector::gelu_grad(self)
            }

            #[inline(always)]
            fn gelu_tanh_grad(self) -> Self {
                let scale = std::$type::consts::FRAC_2_SQRT_PI * std::$type::consts::FRAC_1_SQRT_2;
                let cubic = 0.044_715 * self * self;
                let t = $vector::tanh(scale * self * (1.0 + cubic));
                let inner = 0.5 * scale * (1.0 + 3.0 * cubic);
                0.5 * (1.0 + t) + self * ((1.0 - t * t) * inner)
            }

            #[inline(always)]
            fn silu_grad(self) -> Self {
                let share = 1.0 / (1.0 + $vector::exp(-self));
                share * (1.0 + self * (1.0 - share))
            }

            #[inline(always)]
            fn mish(self) -> Self {
                // With e = eˣ, tanh(ln(1 + e)) = (e² + 2e) / (e² + 2e + 2).
                let e = $vector::exp(self.min(20.0));
                let w = e * (e + 2.0);
                if self > 20.0 { self } else { self * (w / (w + 2.0)) }
            }

            #[inline(always)]
            fn mish_grad(self) -> Self {
                let e = $vector::exp(self.min(20.0));
                let w = e * (e + 2.0);
                let t = w / (w + 2.0);
                // 1 - t²
                let rest = (1.0 + t) * (2.0 / (w + 2.0));
                if self > 20.0 { 1.0 } else { t + self * (e / (1.0 + e)) * rest }
            }

            #[inline(always)]
            fn hardswish(self) -> Self {
                self * (self + 3.0).clamped([0.0, 6.0]) / 6.0
            }

            #[inline(always)]
            fn hardswish_grad(self) -> Self {
                let inner = if self < 3.0 { self / 3.0 + 0.5 } else { 1.0 };
                if self <= -3.0 { 0.0 } else { inner }
            }

            #[inline(always)]
            fn hardsigmoid(self) -> Self {
                (self + 3.0).clamped([0.0, 6.0]) / 6.0
            }

            #[inline(always)]
            fn clamped(self, [low, high]: [Self; 2]) -> Self {
                let raised = if self < low { low } else { self };
                if raised > high { high } else { raised }
            }

            #[inline(always)]
            fn softplus(self, [beta, threshold]: [Self; 2]) -> Self {
                let scaled = self * beta;
                // ln(1 + u) of a u of at most 1, with what the sum lost made up for.
                let u = $vector::exp(-scaled.abs());
                let v = 1.0 + u;
                let log = if v == 1.0 { u } else { $vector::ln(v) * (u / (v - 1.0)) };
                if scaled > threshold { self } else { (scaled.max(0.0) + log) / beta }
            }

            #[inline(always)]
            fn leaky_relu(self, negative_slope: Self) -> Self {
                if self > 0.0 { self } else { self * negative_slope }
            }

            #[inline(always)]
            fn elu(self, [alpha, scale, input_scale]: [Self; 3]) -> Self {
                let z = self * input_scale;
                // eᶻ - 1 by t = tanh z/2, which loses nothing near 0 and below.
                let t = $vector::tanh(0.5 * z);
                let bent = if z < 0.5 { 2.0 * t / (1.0 - t) } else { $vector::exp(z) - 1.0 };
                if self < 0.0 { bent * alpha } else { self * scale }
            }
        }
    )*};
}

floats!(
    f32: single, single::erf;
    f64: double, libm::erf;
);
