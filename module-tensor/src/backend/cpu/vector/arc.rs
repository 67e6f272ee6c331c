//! The arc functions of `f32`, all from one angle, and those of `f64`, which are the standard library's.

pub(super) mod single {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

    /// The angle of a point with coordinates of 0 or more that are neither both 0 nor both infinite: the arc tangent of
    /// `y/x`, within 2^-40.
    #[inline(always)]
    fn angle(y: f64, x: f64) -> f64 {
        // The tangents of 3π/8 and of π/8: beyond them, the point is turned by π/2 or π/4.
        let half = y > x * 2.414_213_562_373_095;
        let quarter = y > x * 0.414_213_562_373_095_1;
        let above = if quarter { y - x } else { y };
        let above = if half { -x } else { above };
        let below = if quarter { y + x } else { x };
        let below = if half { y } else { below };
        let turned = if quarter { FRAC_PI_4 } else { 0.0 };
        let turned = if half { FRAC_PI_2 } else { turned };
        let s = above / below;
        let z = s * s;
        let p = polynomial!(
            z,
            -3.765_307_369_056_794E-2,
            6.974_084_047_595_203E-2,
            -8.992_528_079_362_637E-2,
            1.110_345_423_649_127_4E-1,
            -1.428_538_640_718_612E-1,
            1.999_999_304_976_243_5E-1,
            -3.333_333_327_688_608E-1,
            9.999_999_999_992_442E-1
        );
        s.mul_add(p, turned)
    }

    /// `√(1 - x²)`
    #[inline(always)]
    fn other_leg(x: f64) -> f64 {
        ((1.0 - x) * (1.0 + x)).sqrt()
    }

    /// `arctan x`
    #[inline(always)]
    pub(in super::super::super) fn atan(x: f32) -> f32 {
        (angle(f64::from(x.abs()), 1.0) as f32).copysign(x)
    }

    /// `arcsin x`
    #[inline(always)]
    pub(in super::super::super) fn asin(x: f32) -> f32 {
        let y = f64::from(x.abs());
        (angle(y, other_leg(y)) as f32).copysign(x)
    }

    /// `arccos x`
    #[inline(always)]
    pub(in super::super::super) fn acos(x: f32) -> f32 {
        let wide = f64::from(x.abs());
        let a = angle(other_leg(wide), wide);
        (if x < 0.0 { PI - a } else { a }) as f32
    }

    /// The angle of the point `(x, y)`.
    #[inline(always)]
    pub(in super::super::super) fn atan2(y: f32, x: f32) -> f32 {
        let (high, wide) = (f64::from(y.abs()), f64::from(x.abs()));
        let a = angle(high, wide);
        let diagonal = if high == 0.0 { 0.0 } else { FRAC_PI_4 };
        let a = if high == wide { diagonal } else { a };
        let a = if x.is_sign_negative() { PI - a } else { a };
        (a as f32).copysign(y)
    }

    /// `√(x² + y²)`
    #[inline(always)]
    pub(in super::super::super) fn hypot(x: f32, y: f32) -> f32 {
        let (a, b) = (f64::from(x), f64::from(y));
        let root = a.mul_add(a, b * b).sqrt() as f32;
        let infinite = (x.abs() == f32::INFINITY) | (y.abs() == f32::INFINITY);
        if infinite { f32::INFINITY } else { root }
    }
}

pub(super) mod double {
    pub(in super::super::super) fn atan(x: f64) -> f64 {
        x.atan()
    }

    pub(in super::super::super) fn asin(x: f64) -> f64 {
        x.asin()
    }

    pub(in super::super::super) fn acos(x: f64) -> f64 {
        x.acos()
    }

    /// `√(x² + y²)`, of numbers that are scaled by a power of two, so that no square is infinite or 0.
    #[inline(always)]
    pub(in super::super::super) fn hypot(x: f64, y: f64) -> f64 {
        let (x, y) = (x.abs(), y.abs());
        let (larger, smaller) = if x > y { (x, y) } else { (y, x) };
        // The exponent, of those whose inverses are there too.
        let bits = larger.to_bits() & 0x7ff0_0000_0000_0000;
        let bits = if larger < f64::MIN_POSITIVE {
            1 << 52
        } else {
            bits
        };
        let bits = if larger >= 2.0_f64.powi(1023) {
            2045 << 52
        } else {
            bits
        };
        let inverse = f64::from_bits((2046_u64 << 52).wrapping_sub(bits));
        let (a, b) = (larger * inverse, smaller * inverse);
        let root = a.mul_add(a, b * b).sqrt() * f64::from_bits(bits);
        let infinite = (x == f64::INFINITY) | (y == f64::INFINITY);
        if infinite { f64::INFINITY } else { root }
    }
}
