//! Functions of floating-point numbers without branches, so that a loop over them becomes vector
//! instructions; the standard library's are calls that take one number at a time.
//!
//! The approximations are those of S. Moshier's Cephes library, and N. Juffa's for `erf`; each is
//! within about two units in the last place. Others are polynomials in `f64`, for functions of `f32`
//! that would lose more: they were interpolated at Chebyshev nodes, which is near to the best, and their
//! comments state their relative error, next to which the last rounding is large. Products and sums are
//! fused on every processor: one without the instruction gives the same bits, slowly.

// The constants are written with the digits they were published with.
#![allow(clippy::excessive_precision, clippy::inline_always)]

/// `c₀ xⁿ + … + cₙ`
macro_rules! polynomial {
    ($x:expr, $first:expr $(, $next:expr)*) => {{
        let mut y = $first;
        $(y = $x.mul_add(y, $next);)*
        y
    }};
}

mod arc;
mod base_2;
mod erfinv;
mod error_function;
mod exponential;
mod gamma;
mod logarithm;
mod pow;
mod trigonometric;

pub(super) use erfinv::erfinv;

pub(super) mod single {
    pub(in super::super) use super::arc::single::{acos, asin, atan, atan2, hypot};
    pub(in super::super) use super::base_2::single::{
        acosh, asinh, atanh, cosh, erfc, log2, log10, sinh,
    };
    pub(in super::super) use super::erfinv::single::{MOST_INVERTED, erfinv_within};
    pub(in super::super) use super::error_function::single::{erf, gelu, gelu_grad};
    #[cfg(test)]
    pub(super) use super::exponential::single::exp_of_positive;
    pub(in super::super) use super::exponential::single::{
        exp, exp_m1, exp_of_negative, exp2, tanh,
    };
    pub(in super::super) use super::gamma::single::{digamma, lgamma, trigamma};
    pub(in super::super) use super::logarithm::single::{ln, ln_1p};
    pub(in super::super) use super::pow::single::pow;
    pub(in super::super) use super::trigonometric::single::{MOST_TURNED, cos, sin, tan};
}

pub(super) mod double {
    pub(in super::super) use super::arc::double::{acos, asin, atan, hypot};
    pub(in super::super) use super::base_2::double::{
        acosh, asinh, atanh, cosh, erfc, log2, log10, sinh,
    };
    pub(in super::super) use super::erfinv::double::{MOST_INVERTED, erfinv_within};
    pub(in super::super) use super::error_function::double::{erf, gelu, gelu_grad};
    #[cfg(test)]
    pub(super) use super::exponential::double::exp_of_positive;
    pub(in super::super) use super::exponential::double::{
        exp, exp_m1, exp_of_negative, exp2, tanh,
    };
    pub(in super::super) use super::gamma::double::{digamma, lgamma, trigamma};
    pub(in super::super) use super::logarithm::double::{ln, ln_1p};
    pub(in super::super) use super::pow::double::pow;
    pub(in super::super) use super::trigonometric::double::{MOST_TURNED, cos, sin, tan};
}

#[cfg(test)]
mod tests;
