//! The error function, and GELU, which is made of it.

pub(super) mod single {
    use super::super::exponential::single::exp_of_negative;

    /// `2/√π · ∫₀ˣ e^(-t²) dt`
    #[inline(always)]
    pub(in super::super::super) fn erf(x: f32) -> f32 {
        let (t, z) = (x.abs(), x * x);
        let r = polynomial!(t, -1.728_534_70e-5, 3.831_971_26e-4);
        let u = polynomial!(t, -3.883_964_38e-3, 2.425_462_19e-2);
        let r = polynomial!(
            t,
            r.mul_add(z, u),
            -1.067_778_77e-1,
            -6.348_464_87e-1,
            -1.287_175_12e-1
        );
        let far = (1.0 - exp_of_negative(r.mul_add(t, -t))).copysign(x);
        let p = polynomial!(
            z,
            -5.967_617_03e-4,
            4.991_194_23e-3,
            -2.676_813_49e-2,
            1.128_199_25e-1,
            -3.761_253_36e-1,
            1.283_791_66e-1
        );
        if t > 0.927_734_375 {
            far
        } else {
            p.mul_add(x, x)
        }
    }

    /// The factor of the exponentials in [`tail`]: they and the products with them do not underflow, only their quotients do.
    const LARGE: f32 = 18_446_744_073_709_551_616.0;

    /// `1 - Φ(|x|)` and `2⁶⁴ e^(-x²/2)`, where Φ is the standard normal cumulative distribution function.
    ///
    /// The quotient of the first and `2^(HALF x²)`, Mills' ratio but for a factor, is a quotient of polynomials, whose relative
    /// error is at most 9.4e-8 (1 + x²/4), as the rounding of x² makes that of the power grow.
    #[inline(always)]
    fn tail(x: f32) -> (f32, f32) {
        /// `-½ log₂ e`, whose rounding the polynomials make up for.
        const HALF: f32 = -0.5 * std::f32::consts::LOG2_E;
        /// 1.5 times the number whose last place is 1, and the exponent of `LARGE`.
        const MAGIC: f32 = 12_582_912.0 + 64.0;
        const SMALL: f32 = 1.0 / LARGE;

        // Beyond 15 the tail rounds to 0; a NaN passes.
        let t = if x.abs() > 15.0 { 15.0 } else { x.abs() };
        let z = t * t;
        // As in `exp`: the whole number next to the exponent stands in the last bits of `shifted`.
        let shifted = z.mul_add(HALF, MAGIC);
        let rest = z.mul_add(HALF, MAGIC - shifted);
        // 2ʳ for |r| of at most ½, fitted for the least relative error, which is 9.2e-8, and with 1 at 0.
        let power = polynomial!(
            rest,
            0.001_326_472_7,
            0.009_671_513,
            0.055_507_336,
            0.240_222_42,
            0.693_146_997,
            1.0
        );
        let exponent = shifted.to_bits() << (f32::MANTISSA_DIGITS - 1);
        let density = f32::from_bits(power.to_bits().wrapping_add(exponent));
        let p = polynomial!(
            t,
            SMALL * 0.014_734_441,
            SMALL * 0.109_719_9,
            SMALL * 0.344_827_53,
            SMALL * 0.5
        );
        let q = polynomial!(
            t,
            0.036_944_248,
            0.274_669_77,
            0.906_363_3,
            1.487_536_1,
            1.0
        );
        (density * p / q, density)
    }

    /// `x Φ(x)`; the small products of numbers below zero keep their digits.
    #[inline(always)]
    pub(in super::super::super) fn gelu(x: f32) -> f32 {
        let (tail, _) = tail(x);
        x * if x < 0.0 { tail } else { 1.0 - tail }
    }

    /// `Φ(x) + x φ(x)`
    #[inline(always)]
    pub(in super::super::super) fn gelu_grad(x: f32) -> f32 {
        let (tail, density) = tail(x);
        let share = if x < 0.0 { tail } else { 1.0 - tail };
        // 1/√(2π)
        x.mul_add(0.398_942_28 / LARGE * density, share)
    }
}

pub(super) mod double {
    use super::super::exponential::double::exp_of_negative;

    pub(in super::super::super) use libm::erf;

    /// `x Φ(x)`, where Φ is the standard normal cumulative distribution function.
    #[inline(always)]
    pub(in super::super::super) fn gelu(x: f64) -> f64 {
        x * share(x)
    }

    /// `Φ(x)`, by the complement, which keeps the digits of small values below zero.
    #[inline(always)]
    fn share(x: f64) -> f64 {
        0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
    }

    /// `Φ(x) + x φ(x)`
    #[inline(always)]
    pub(in super::super::super) fn gelu_grad(x: f64) -> f64 {
        use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

        share(x) + x * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * exp_of_negative(-0.5 * x * x))
    }
}
