//! The inverse of the error function.

use std::f64::consts::FRAC_1_SQRT_2;

use super::logarithm::double::ln;

/// `c₀ + x (c₁ + x (c₂ + …))`
#[inline(always)]
fn polynomial(x: f64, coefficients: [f64; 8]) -> f64 {
    let [rest @ .., last] = coefficients;
    rest.iter().rev().fold(last, |y, c| y * x + c)
}

/// `x` with `erf x = y`, to about sixteen digits: infinite at ±1, NaN beyond.
///
/// It is the percentage point of the normal distribution at `(1 + y) / 2`, over √2.
///
/// Source: Wichura, *Algorithm AS 241: The Percentage Points of the Normal Distribution* (1988).
pub(in super::super) fn erfinv(y: f64) -> f64 {
    if y.abs() > 1.0 || y.is_nan() {
        return f64::NAN;
    }
    let q = 0.5 * y;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return FRAC_1_SQRT_2 * (q * polynomial(r, NEAR.0) / polynomial(r, NEAR.1));
    }
    let r = (-(0.5 - q.abs()).ln()).sqrt();
    let (r, (above, below)) = if r <= 5.0 {
        (r - 1.6, TAIL)
    } else {
        (r - 5.0, FAR)
    };
    let x = if r < f64::INFINITY {
        polynomial(r, above) / polynomial(r, below)
    } else {
        r
    };
    (FRAC_1_SQRT_2 * x).copysign(y)
}

/// [`erfinv_within`] of a type.
macro_rules! within {
    ($($module:ident $type:ident: $most:expr;)*) => {$(
        pub(super) mod $module {
            /// From the next number on, the result may be infinite or need another approximation.
            pub(in super::super::super) const MOST_INVERTED: $type = $most;

            #[inline(always)]
            pub(in super::super::super) fn erfinv_within(y: $type) -> $type {
                super::erfinv_within(y.into()) as $type
            }
        }
    )*};
}

within! {
    single f32: 1.0 - f32::EPSILON / 2.0;
    double f64: 1.0 - 3e-11;
}

/// [`erfinv`] without branches, of a number whose magnitude is at most `MOST_INVERTED`.
#[inline(always)]
fn erfinv_within(y: f64) -> f64 {
    let q = 0.5 * y;
    let r = 0.180625 - q * q;
    let near = q * polynomial(r, NEAR.0) / polynomial(r, NEAR.1);
    let r = (-ln(0.5 - q.abs())).sqrt() - 1.6;
    let tail = (polynomial(r, TAIL.0) / polynomial(r, TAIL.1)).copysign(y);
    FRAC_1_SQRT_2 * if q.abs() <= 0.425 { near } else { tail }
}

/// A numerator and a denominator.
type Rational = ([f64; 8], [f64; 8]);

const NEAR: Rational = (
    [
        3.387_132_872_796_366_608_0,
        1.331_416_678_917_843_774_5e2,
        1.971_590_950_306_551_442_7e3,
        1.373_169_376_550_946_112_5e4,
        4.592_195_393_154_987_145_7e4,
        6.726_577_092_700_870_085_3e4,
        3.343_057_558_358_812_810_5e4,
        2.509_080_928_730_122_672_7e3,
    ],
    [
        1.0,
        4.231_333_070_160_091_125_2e1,
        6.871_870_074_920_579_083_0e2,
        5.394_196_021_424_751_107_7e3,
        2.121_379_430_158_659_586_7e4,
        3.930_789_580_009_271_061_0e4,
        2.872_908_573_572_194_267_4e4,
        5.226_495_278_852_854_561_0e3,
    ],
);

const TAIL: Rational = (
    [
        1.423_437_110_749_683_577_34,
        4.630_337_846_156_545_295_90,
        5.769_497_221_460_691_405_50,
        3.647_848_324_763_204_605_04,
        1.270_458_252_452_368_382_58,
        2.417_807_251_774_506_117_70e-1,
        2.272_384_498_926_918_458_33e-2,
        7.745_450_142_783_414_076_40e-4,
    ],
    [
        1.0,
        2.053_191_626_637_758_821_87,
        1.676_384_830_183_803_849_40,
        6.897_673_349_851_000_045_50e-1,
        1.481_039_764_274_800_745_90e-1,
        1.519_866_656_361_645_719_66e-2,
        5.475_938_084_995_344_946_00e-4,
        1.050_750_071_644_416_843_24e-9,
    ],
);

const FAR: Rational = (
    [
        6.657_904_643_501_103_777_20,
        5.463_784_911_164_114_369_90,
        1.784_826_539_917_291_335_80,
        2.965_605_718_285_048_912_30e-1,
        2.653_218_952_657_612_309_30e-2,
        1.242_660_947_388_078_438_60e-3,
        2.711_555_568_743_487_578_15e-5,
        2.010_334_399_292_288_132_65e-7,
    ],
    [
        1.0,
        5.998_322_065_558_879_376_90e-1,
        1.369_298_809_227_358_053_10e-1,
        1.487_536_129_085_061_485_25e-2,
        7.868_691_311_456_132_591_00e-4,
        1.846_318_317_510_054_681_80e-5,
        1.421_511_758_316_445_888_70e-7,
        2.044_263_103_389_939_785_64e-15,
    ],
);

#[cfg(test)]
mod tests {
    use super::erfinv;

    #[test]
    fn it_is_the_inverse() {
        for i in -9999..=9999 {
            let y = f64::from(i) / 10_000.0;
            let x = erfinv(y);
            // What rounding x can do to the function.
            let slope = std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
            let bound = 4.0 * f64::EPSILON * (y.abs() + slope * x.abs());
            assert!((libm::erf(x) - y).abs() <= bound, "erfinv({y}) = {x}");
        }
        let far = 1.0 - 2.0_f64.powi(-53);
        assert!((erfinv(far) - 5.863_584_748_755_168).abs() < 1e-13);
        assert_eq!(erfinv(1.0), f64::INFINITY);
        assert_eq!(erfinv(-1.0), f64::NEG_INFINITY);
    }
}
