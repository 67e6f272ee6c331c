//! Functions of floating-point numbers without branches, so that a loop over them becomes vector
//! instructions; the standard library's are calls that take one number at a time.
//!
//! The approximations are those of S. Moshier's Cephes library, and N. Juffa's for `erf`; each is
//! within about two units in the last place. Products and sums are fused on every processor: one
//! without the instruction gives the same bits, slowly.

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

/// The exponential, which differs between the widths in its constants and its rational function.
macro_rules! exponential {
    ($float:ident, $int:ident, $bits:ident, $mantissa:expr, $bias:expr, $range:expr, $ln_2:expr, |$r:ident| $of_rest:expr) => {
        /// `y` and `n` of `eˣ = y 2ⁿ`, where `n` stands in the last bits of a number.
        #[inline(always)]
        fn parts(x: $float) -> ($float, $float) {
            // Adding 1.5 times the number whose last place is 1 rounds to a whole number, which then
            // stands in the last bits.
            let shifted = x.mul_add(std::$float::consts::LOG2_E, MAGIC);
            let n = shifted - MAGIC;
            let $r = (-n).mul_add($ln_2.1, (-n).mul_add($ln_2.0, x));
            ($of_rest, shifted)
        }

        const MAGIC: $float = ((3 as $bits) << ($mantissa - 1)) as $float;

        /// The exponent of a power of two that is far from all bounds: a quarter of their distance.
        const FAR: $int = ($bias + 1) / 2;

        #[inline(always)]
        fn power(n: $int) -> $float {
            $float::from_bits((n.wrapping_add($bias) << $mantissa) as $bits)
        }

        #[inline(always)]
        fn whole(shifted: $float) -> $int {
            (shifted.to_bits() as $int).wrapping_sub(MAGIC.to_bits() as $int)
        }

        /// `eˣ`
        #[inline(always)]
        pub(in super::super) fn exp(x: $float) -> $float {
            // A NaN passes both. What rounds to 0 is not computed: products that underflow take many
            // times as long, and a mask of attention makes whole rows of them.
            let vanishes = x < $range.0;
            let x = if x > $range.1 { $range.1 } else { x };
            let x = if vanishes { 0.0 } else { x };
            let (y, shifted) = parts(x);
            // In two steps, because the power of two may lie outside the exponents there are.
            let n = whole(shifted);
            let half = n >> 1;
            let y = y * power(half) * power(n.wrapping_sub(half));
            if vanishes { 0.0 } else { y }
        }

        /// The bits of [`exp`] in fewer steps, of a number that is below 1.
        #[inline(always)]
        pub(in super::super) fn exp_of_negative(x: $float) -> $float {
            let vanishes = x < $range.0;
            let (y, shifted) = parts(if vanishes { 0.0 } else { x });
            // Only the second product is rounded, as there.
            let y = y * power(whole(shifted).wrapping_add(FAR)) * power(-FAR);
            if vanishes { 0.0 } else { y }
        }

        /// The bits of [`exp`] in fewer steps, of a number that is above -1.
        #[inline(always)]
        pub(super) fn exp_of_positive(x: $float) -> $float {
            let x = if x > $range.1 { $range.1 } else { x };
            let (y, shifted) = parts(x);
            y * power(whole(shifted).wrapping_sub(FAR)) * power(FAR)
        }
    };
}

/// The logarithm, which differs between the widths in its constants and its rational function.
macro_rules! logarithm {
    ($float:ident, $int:ident, $mantissa:expr, $bias:expr, |$r:ident, $z:ident| $cubic:expr) => {
        /// `ln x`
        #[inline(always)]
        pub(in super::super) fn ln(x: $float) -> $float {
            // A subnormal number is scaled to one that has an exponent.
            let tiny = x < $float::MIN_POSITIVE;
            let scaled = if tiny {
                x * ((1 as $int) << $mantissa) as $float
            } else {
                x
            };
            let bits = scaled.to_bits() as $int;
            // The fraction is brought into [√½, √2), where the approximation holds.
            let half = (0.5 as $float).to_bits() as $int;
            let fraction = $float::from_bits(((bits & ((1 << $mantissa) - 1)) | half) as _);
            let below = fraction < std::$float::consts::FRAC_1_SQRT_2;
            let e = (bits >> $mantissa) as $float - $bias;
            let e = if below { e - 1.0 } else { e };
            let e = if tiny { e - $mantissa as $float } else { e };
            let $r = if below { fraction + fraction } else { fraction } - 1.0;
            let $z = $r * $r;
            let y: $float = $cubic;
            let y = e.mul_add(-2.121_944_400_546_905_827_679E-4, y) - 0.5 * $z;
            let y = e.mul_add(0.693_359_375, $r + y);
            let y = if x < $float::INFINITY { y } else { x };
            let y = if x == 0.0 { $float::NEG_INFINITY } else { y };
            if x < 0.0 { $float::NAN } else { y }
        }
    };
}

pub(super) mod single {
    logarithm!(f32, i32, 23, 126.0, |r, z| {
        r * z
            * polynomial!(
                r,
                7.037_683_629_2E-2,
                -1.151_461_031_0E-1,
                1.167_699_874_0E-1,
                -1.242_014_084_6E-1,
                1.424_932_278_7E-1,
                -1.666_805_766_5E-1,
                2.000_071_476_5E-1,
                -2.499_999_399_3E-1,
                3.333_333_117_4E-1
            )
    });

    exponential!(
        f32,
        i32,
        u32,
        23,
        127,
        (-104.0, 89.0),
        (0.693_359_375, -2.121_944_40e-4),
        |r| {
            let p = polynomial!(
                r,
                1.987_569_150_0E-4,
                1.398_199_950_7E-3,
                8.333_451_907_3E-3,
                4.166_579_589_4E-2,
                1.666_666_545_9E-1,
                5.000_000_120_1E-1
            );
            (r * r).mul_add(p, r) + 1.0
        }
    );

    /// `tanh x`
    #[inline(always)]
    pub(in super::super) fn tanh(x: f32) -> f32 {
        let z = x * x;
        let p = polynomial!(
            z,
            -5.704_988_727_45E-3,
            2.063_908_879_54E-2,
            -5.373_971_555_31E-2,
            1.333_144_220_36E-1,
            -3.333_328_194_22E-1
        );
        let near = (x * z).mul_add(p, x);
        let far = (1.0 - 2.0 / (exp_of_positive(2.0 * x.abs()) + 1.0)).copysign(x);
        if x.abs() < 0.625 { near } else { far }
    }

    /// `2/√π · ∫₀ˣ e^(-t²) dt`
    #[inline(always)]
    pub(in super::super) fn erf(x: f32) -> f32 {
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

    /// `1 - Φ(|x|)` and `e^(-x²/2)`, where Φ is the standard normal cumulative distribution function.
    ///
    /// Their quotient, Mills' ratio but for a factor, is a polynomial of `u = 1/(1 + 0.27|x|)` within
    /// 2.4e-8, fitted for the least relative error on [0, 14].
    #[inline(always)]
    fn tail(x: f32) -> (f32, f32) {
        let u = x.abs().mul_add(0.27, 1.0).recip();
        let p = polynomial!(
            u,
            0.028_915_293_5,
            -0.126_255_355,
            0.169_291_584,
            -0.068_621_169_7,
            0.107_399_554,
            0.072_240_242_5,
            0.101_759_176,
            0.107_550_505,
            0.107_720_181
        );
        let density = exp_of_negative(-0.5 * x * x);
        (density * (u * p), density)
    }

    /// `x Φ(x)`; the small products of numbers below zero keep their digits.
    #[inline(always)]
    pub(in super::super) fn gelu(x: f32) -> f32 {
        let (tail, _) = tail(x);
        x * if x < 0.0 { tail } else { 1.0 - tail }
    }

    /// `Φ(x) + x φ(x)`
    #[inline(always)]
    pub(in super::super) fn gelu_grad(x: f32) -> f32 {
        let (tail, density) = tail(x);
        let share = if x < 0.0 { tail } else { 1.0 - tail };
        // 1/√(2π)
        share + x * (0.398_942_28 * density)
    }
}

pub(super) mod double {
    pub(in super::super) use libm::erf;

    logarithm!(f64, i64, 52, 1022.0, |r, z| {
        let p = polynomial!(
            r,
            1.018_756_638_045_809_317_96E-4,
            4.974_949_949_767_470_014_25E-1,
            4.705_791_198_788_817_258_54,
            1.449_892_253_416_109_308_46E1,
            1.793_686_785_078_198_163_13E1,
            7.708_387_337_558_853_916_66
        );
        let q = polynomial!(
            r,
            1.0,
            1.128_735_871_891_674_505_90E1,
            4.522_791_458_375_322_211_05E1,
            8.298_752_669_127_766_032_11E1,
            7.115_447_506_185_638_944_66E1,
            2.312_516_201_267_653_405_83E1
        );
        r * (z * p / q)
    });

    exponential!(
        f64,
        i64,
        u64,
        52,
        1023,
        (-746.0, 710.0),
        (6.931_457_519_531_25E-1, 1.428_606_820_309_417_232_12E-6),
        |r| {
            let z = r * r;
            let p = r * polynomial!(
                z,
                1.261_771_930_748_105_908_78E-4,
                3.029_944_077_074_419_613_00E-2,
                9.999_999_999_999_999_999_10E-1
            );
            let q = polynomial!(
                z,
                3.001_985_051_386_644_550_42E-6,
                2.524_483_403_496_841_041_92E-3,
                2.272_655_482_081_550_287_66E-1,
                2.000_000_000_000_000_000_05
            );
            1.0 + 2.0 * (p / (q - p))
        }
    );

    /// `tanh x`
    #[inline(always)]
    pub(in super::super) fn tanh(x: f64) -> f64 {
        let z = x * x;
        let p = polynomial!(
            z,
            -9.643_991_794_250_522_386_28E-1,
            -9.928_772_310_019_185_865_64E1,
            -1.614_687_684_417_084_479_52E3
        );
        let q = polynomial!(
            z,
            1.0,
            1.128_116_784_916_329_314_02E2,
            2.235_488_390_601_004_485_83E3,
            4.844_063_053_251_254_860_48E3
        );
        let near = (x * z).mul_add(p / q, x);
        let far = (1.0 - 2.0 / (exp_of_positive(2.0 * x.abs()) + 1.0)).copysign(x);
        if x.abs() < 0.625 { near } else { far }
    }

    /// `x Φ(x)`, where Φ is the standard normal cumulative distribution function.
    #[inline(always)]
    pub(in super::super) fn gelu(x: f64) -> f64 {
        x * share(x)
    }

    /// `Φ(x)`, by the complement, which keeps the digits of small values below zero.
    #[inline(always)]
    fn share(x: f64) -> f64 {
        0.5 * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
    }

    /// `Φ(x) + x φ(x)`
    #[inline(always)]
    pub(in super::super) fn gelu_grad(x: f64) -> f64 {
        use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

        share(x) + x * (0.5 * FRAC_2_SQRT_PI * FRAC_1_SQRT_2 * exp_of_negative(-0.5 * x * x))
    }
}

#[cfg(test)]
mod tests;
