//! The remainder of a division rounded toward 0.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

/// The exact remainder of `a`, with the sign of `a`.
///
/// The library's function, which divides bit by bit, computes the remainder where the quotient is large or infinite.
#[inline]
pub(super) fn single(a: f32, b: f32) -> f32 {
    match quick(a, b, a.abs() / b.abs()) {
        (remainder, true) => remainder,
        (_, false) => a % b,
    }
}

#[inline]
pub(super) fn double(a: f64, b: f64) -> f64 {
    a % b
}

/// From here on, the nearest whole number may be more than one away from the quotient.
const LARGE: f32 = (1_u32 << 21) as f32;

/// From here on, neighbors in `f32` are 1 apart.
const WHOLE: f32 = (1_u32 << 23) as f32;

/// The remainder, with the sign of `a`, and whether it is exact: the quotient of the magnitudes must be small, and the
/// divisor finite. The quotient may be off by two units in the last place.
///
/// A whole number next to the quotient has at most 22 bits, so that its product with the divisor is exact in `f64`, and so
/// are the difference and the sum. If the whole number is the one above the quotient, the difference is negative, and the
/// divisor is added back.
#[inline(always)]
pub(super) fn quick(a: f32, b: f32, quotient: f32) -> (f32, bool) {
    let is_small = (quotient < LARGE) & (b.abs() < f32::INFINITY);
    // Rounded to a whole number by the sum.
    let whole = (quotient + WHOLE) - WHOLE;
    let (a_wide, b_wide) = (f64::from(a.abs()), f64::from(b.abs()));
    let remainder = a_wide - f64::from(whole) * b_wide;
    let remainder = remainder + if remainder < 0.0 { b_wide } else { 0.0 };
    ((remainder as f32).copysign(a), is_small)
}
