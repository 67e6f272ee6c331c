//! Functions of `f32` that are made of a power of 2 or a logarithm to the base 2 in `f64`: other logarithms, hyperbolic
//! functions and their inverses, and the complement of the error function. Those of `f64` are the libraries'.

pub(super) mod single {
    use std::f64::consts::{LN_2, LOG2_E, LOG10_2};

    /// The sum with it has units of 1, and its last bits are those of the exponent of 1.
    const WHOLE: f64 = 6_755_399_441_055_744.0 + 1023.0;

    /// 2⁵², whose last bit stands for 1.
    const UNITS: f64 = 4_503_599_627_370_496.0;

    /// The bits of the exponent.
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;

    /// A number below -200 or above 200 replaced by these, whose powers no `f32` can hold. NaN stays.
    #[inline(always)]
    fn bounded(x: f64) -> f64 {
        let x = if x > 200.0 { 200.0 } else { x };
        if x < -200.0 { -200.0 } else { x }
    }

    /// `2ⁿ` and `r` of a sum `n + r` with a whole `n`.
    #[inline(always)]
    fn parts(x: f64) -> (f64, f64) {
        let shifted = x + WHOLE;
        (
            f64::from_bits(shifted.to_bits() << 52),
            x - (shifted - WHOLE),
        )
    }

    /// `2ˣ`, within 2^-39; 0 and infinity in `f32` where they are near.
    #[inline(always)]
    pub(in super::super) fn power_of_2(x: f64) -> f64 {
        let (power, r) = parts(bounded(x));
        let p = polynomial!(
            r,
            1.325_522_487_866_881_7E-6,
            1.531_007_980_224_929_8E-5,
            1.540_345_585_245_383_8E-4,
            1.333_345_056_800_064_5E-3,
            9.618_129_159_402_558E-3,
            5.550_410_941_205_933E-2,
            2.402_265_069_581_299E-1,
            6.931_471_805_459_335E-1,
            1.0
        );
        power * p
    }

    /// `e + 1023`, shifted into the place of the exponent, of `x = 2ᵉ m` with a positive `x` and `m` in [√½, √2). The other
    /// bits are those of `m` less those of √½.
    #[inline(always)]
    fn exponent_and_rest(x: f64) -> u64 {
        let root = std::f64::consts::FRAC_1_SQRT_2.to_bits();
        x.to_bits().wrapping_sub(root).wrapping_add(1023 << 52)
    }

    /// `e` of that.
    #[inline(always)]
    fn exponent(bits: u64) -> f64 {
        f64::from_bits((bits >> 52) | UNITS.to_bits()) - (UNITS + 1023.0)
    }

    /// `log₂((1 + s)/(1 - s)) / s` as a polynomial of `z = s²`, within 2^-45, for quotients in [√½, √2].
    #[inline(always)]
    fn log2_of_quotient(z: f64) -> f64 {
        polynomial!(
            z,
            2.828_871_826_307_356_5E-1,
            3.199_066_608_891_474E-1,
            4.122_092_273_305_244_5E-1,
            5.770_779_426_302_618E-1,
            9.617_966_941_123_595E-1,
            2.885_390_081_777_850_4
        )
    }

    /// `log₂ x` of a positive number.
    #[inline(always)]
    pub(in super::super) fn log2_of_positive(x: f64) -> f64 {
        let root = std::f64::consts::FRAC_1_SQRT_2.to_bits();
        let bits = exponent_and_rest(x);
        let m = f64::from_bits((bits & !EXPONENT).wrapping_add(root));
        let s = (m - 1.0) / (m + 1.0);
        s.mul_add(log2_of_quotient(s * s), exponent(bits))
    }

    /// `ln(1 + x)` of a number that is not negative.
    #[inline(always)]
    fn ln_1p_of_positive(x: f64) -> f64 {
        // As for the other type: the exponent of the rounded sum, and the rest of the exact one.
        let bits = exponent_and_rest(1.0 + x);
        let scale = f64::from_bits((2046_u64 << 52).wrapping_sub(bits & EXPONENT));
        let r = x.mul_add(scale, scale - 1.0);
        let s = r / (2.0 + r);
        LN_2 * s.mul_add(log2_of_quotient(s * s), exponent(bits))
    }

    /// The logarithm of `x` to the base whose logarithm of 2 is `factor`.
    #[inline(always)]
    fn logarithm(x: f32, factor: f64) -> f32 {
        let y = (factor * log2_of_positive(f64::from(x))) as f32;
        let y = if x < f32::INFINITY { y } else { x };
        let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
        if x < 0.0 { f32::NAN } else { y }
    }

    /// `log₂ x`
    #[inline(always)]
    pub(in super::super::super) fn log2(x: f32) -> f32 {
        logarithm(x, 1.0)
    }

    /// `log₁₀ x`
    #[inline(always)]
    pub(in super::super::super) fn log10(x: f32) -> f32 {
        logarithm(x, LOG10_2)
    }

    /// `sinh x` and `cosh x`, from those of the parts of `x / ln 2`, within 2^-37.
    #[inline(always)]
    fn sinh_cosh(x: f32) -> (f32, f32) {
        let (power, r) = parts(bounded(f64::from(x) * LOG2_E));
        let inverse = f64::from_bits((2046_u64 << 52).wrapping_sub(power.to_bits()));
        let (sinh_n, cosh_n) = (0.5 * (power - inverse), 0.5 * (power + inverse));
        let z = r * r;
        let sinh_r = r * polynomial!(
            z,
            1.530_375_175_489_649E-5,
            1.333_347_831_410_334E-3,
            5.550_410_906_445_603_4E-2,
            6.931_471_805_568_199E-1
        );
        let cosh_r = polynomial!(
            z,
            1.325_968_946_872_233_3E-6,
            1.540_343_355_768_128E-4,
            9.618_129_194_193_676E-3,
            2.402_265_069_563_925_8E-1,
            1.000_000_000_000_013_5
        );
        (
            sinh_n.mul_add(cosh_r, cosh_n * sinh_r) as f32,
            cosh_n.mul_add(cosh_r, sinh_n * sinh_r) as f32,
        )
    }

    /// `sinh x`
    #[inline(always)]
    pub(in super::super::super) fn sinh(x: f32) -> f32 {
        // -0 stays.
        sinh_cosh(x).0.copysign(x)
    }

    /// `cosh x`
    #[inline(always)]
    pub(in super::super::super) fn cosh(x: f32) -> f32 {
        sinh_cosh(x).1
    }

    /// `arsinh x = ln(|x| + √(x² + 1))` with the sign of `x`
    #[inline(always)]
    pub(in super::super::super) fn asinh(x: f32) -> f32 {
        let wide = f64::from(x.abs());
        let square = wide * wide;
        let y = ln_1p_of_positive(wide + square / (1.0 + (1.0 + square).sqrt())) as f32;
        (if x.abs() < f32::INFINITY { y } else { x }).copysign(x)
    }

    /// `arcosh x = ln(x + √(x² - 1))`
    #[inline(always)]
    pub(in super::super::super) fn acosh(x: f32) -> f32 {
        let rest = f64::from(x) - 1.0;
        let y = ln_1p_of_positive(rest + (rest * (rest + 2.0)).sqrt()) as f32;
        let y = if x < f32::INFINITY { y } else { x };
        if x < 1.0 { f32::NAN } else { y }
    }

    /// `artanh x = ½ ln((1 + x)/(1 - x))`
    #[inline(always)]
    pub(in super::super::super) fn atanh(x: f32) -> f32 {
        let wide = f64::from(x.abs());
        let y = 0.5 * ln_1p_of_positive(2.0 * wide / (1.0 - wide)) as f32;
        let end = if wide == 1.0 { f32::INFINITY } else { f32::NAN };
        (if wide < 1.0 { y } else { end }).copysign(x)
    }

    /// `1 - erf(x)`
    ///
    /// Its product with `e^(x²)` is a polynomial of `1/(1 + 0.4|x|)` within 2^-36 up to 10.1, beyond which `f32` holds no
    /// such small numbers.
    #[inline(always)]
    pub(in super::super::super) fn erfc(x: f32) -> f32 {
        let wide = f64::from(x.abs());
        let wide = if wide > 10.1 { 11.0 } else { wide };
        let u = wide.mul_add(0.4, 1.0).recip();
        let p = polynomial!(
            u,
            -1.243_602_350_832_632_5E-2,
            9.768_576_493_585_59E-2,
            -3.238_459_881_799_779_5E-1,
            5.681_817_772_991_835E-1,
            -5.307_077_318_888_397E-1,
            2.252_278_365_783_217E-1,
            -2.962_503_080_450_689_2E-2,
            -4.935_661_077_453_181E-2,
            1.203_400_398_490_088_6E-1,
            9.869_121_495_935_745E-2,
            1.779_352_812_344_813_8E-1,
            2.064_227_200_538_165E-1,
            2.258_208_996_041_352E-1,
            2.256_655_234_982_835E-1,
            3.271_430_214_806_680_7E-7
        );
        let y = p * power_of_2(-LOG2_E * wide * wide);
        (if x < 0.0 { 2.0 - y } else { y }) as f32
    }
}

pub(super) mod double {
    pub(in super::super::super) use libm::{asinh, atanh, erfc};

    pub(in super::super::super) fn acosh(x: f64) -> f64 {
        // The library's is a number below -1.
        if x < 1.0 { f64::NAN } else { libm::acosh(x) }
    }

    macro_rules! of_library {
        ($($function:ident)*) => {$(
            pub(in super::super::super) fn $function(x: f64) -> f64 {
                x.$function()
            }
        )*};
    }

    of_library!(log2 log10 sinh cosh);
}
