//! The logarithm of the gamma function and its derivatives, of positive numbers.

pub(super) mod single {
    /// Functions of `f32` that are computed in `f64`.
    macro_rules! rounded {
        ($($name:ident)*) => {$(
            #[inline(always)]
            pub(in super::super::super) fn $name(x: f32) -> f32 {
                super::double::$name(x.into()) as f32
            }
        )*};
    }

    rounded!(digamma trigamma lgamma);
}

pub(super) mod double {
    use super::super::logarithm::double::ln;

    /// `y ≥ 10` and a sum over the numbers that lie between it and `x` in steps of 1: `f(x) + f(x + 1) + … + f(y - 1)`.
    #[inline(always)]
    fn shifted(x: f64, f: impl Fn(f64) -> f64) -> (f64, f64) {
        let (mut y, mut sum) = (x, 0.0);
        for _ in 0..10 {
            let is_small = y < 10.0;
            sum += if is_small { f(y) } else { 0.0 };
            y += if is_small { 1.0 } else { 0.0 };
        }
        (y, sum)
    }

    /// The derivative of `ln Γ(x)`: by the recurrence up to 10, then by the asymptotic series.
    ///
    /// Source: Cephes, `psi`.
    #[inline(always)]
    pub(in super::super::super) fn digamma(x: f64) -> f64 {
        let (y, sum) = shifted(x, f64::recip);
        let square = (y * y).recip();
        // `B₂ₖ / 2k`
        let series = polynomial!(
            square,
            1.0 / 12.0,
            -691.0 / 32_760.0,
            1.0 / 132.0,
            -1.0 / 240.0,
            1.0 / 252.0,
            -1.0 / 120.0,
            1.0 / 12.0
        );
        ln(y) - 0.5 / y - square * series - sum
    }

    /// The derivative of [`digamma`], in the same way.
    #[inline(always)]
    pub(in super::super::super) fn trigamma(x: f64) -> f64 {
        let (y, sum) = shifted(x, |y| (y * y).recip());
        let inverse = y.recip();
        let square = inverse * inverse;
        // `B₂ₖ`
        let series = polynomial!(
            square,
            7.0 / 6.0,
            -691.0 / 2_730.0,
            5.0 / 66.0,
            -1.0 / 30.0,
            1.0 / 42.0,
            -1.0 / 30.0,
            1.0 / 6.0
        );
        inverse + 0.5 * square + inverse * square * series + sum
    }

    /// `ln Γ(x)` of a finite `x`, to about as many digits as `f32` has: by the recurrence to and a rational function between 2
    /// and 3, from 8 on by the asymptotic series.
    ///
    /// Source: Cephes, `lgam`.
    #[inline(always)]
    pub(in super::super::super) fn lgamma(x: f64) -> f64 {
        /// `½ ln 2π`
        const HALF_LN_2_PI: f64 = 0.918_938_533_204_672_741_78;
        let (mut y, mut above, mut below) = (x, 1.0, 1.0);
        for _ in 0..5 {
            let is_large = y >= 3.0;
            y -= if is_large { 1.0 } else { 0.0 };
            above *= if is_large { y } else { 1.0 };
        }
        for _ in 0..2 {
            let is_small = y < 2.0;
            below *= if is_small { y } else { 1.0 };
            y += if is_small { 1.0 } else { 0.0 };
        }
        let z = y - 2.0;
        let numerator = polynomial!(
            z,
            -1.378_251_525_691_208_591_00e3,
            -3.880_163_151_346_378_409_24e4,
            -3.316_129_927_388_711_847_44e5,
            -1.162_370_974_927_623_073_83e6,
            -1.721_737_008_208_396_621_46e6,
            -8.535_556_642_457_654_656_27e5
        );
        let denominator = polynomial!(
            z,
            1.0,
            -3.518_157_014_365_234_705_49e2,
            -1.706_421_066_518_811_592_23e4,
            -2.205_285_905_538_544_548_39e5,
            -1.139_334_443_679_825_072_07e6,
            -2.532_523_071_775_829_512_85e6,
            -2.018_891_414_335_327_732_31e6
        );
        let near = ln(above / below) + z * numerator / denominator;
        let inverse = x.recip();
        // `B₂ₖ / 2k (2k - 1)`
        let series = polynomial!(
            inverse * inverse,
            1.0 / 156.0,
            -691.0 / 360_360.0,
            1.0 / 1_188.0,
            -1.0 / 1_680.0,
            1.0 / 1_260.0,
            -1.0 / 360.0,
            1.0 / 12.0
        );
        let far = (x - 0.5).mul_add(ln(x), HALF_LN_2_PI - x) + inverse * series;
        if x < 8.0 { near } else { far }
    }
}

#[cfg(test)]
mod tests {
    use super::super::double::erfinv_within;
    use super::super::erfinv;
    use super::double::{digamma, lgamma, trigamma};
    use crate::backend::cpu::special;

    #[test]
    fn functions_of_positive_numbers_agree_with_those_of_any_number() {
        let close = |a: f64, b: f64, most: f64| (a - b).abs() <= most * b.abs().max(1e-9);
        for i in 1..4_000 {
            for x in [
                f64::from(i) * 0.007,
                f64::from(i).powi(3),
                1.0 / f64::from(i),
            ] {
                // Up to cancellation next to the zeros.
                let at = |value: f64| 1.0_f64.max(1.0 / value.abs());
                // The duplication formula.
                let halves = 0.5 * (digamma(x) + digamma(x + 0.5)) + std::f64::consts::LN_2;
                assert!(close(halves, digamma(2.0 * x), 4e-15 * at(halves)), "{x}");
                assert!(close(trigamma(x), special::polygamma(1, x), 2e-14), "{x}");
                let expected = libm::lgamma(x);
                assert!(close(lgamma(x), expected, 4e-15 * at(expected)), "{x}");
                let y = 1.0 - 1.0 / f64::from(i + 1).powi(2);
                assert!(close(erfinv_within(-y), erfinv(-y), 2e-15), "{y}");
            }
        }
        const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
        assert!(close(digamma(1.0), -EULER_GAMMA, 1e-15));
        assert_eq!((lgamma(1.0), lgamma(2.0)), (0.0, 0.0));
        let near = f64::from(f32::EPSILON);
        assert!(close(lgamma(1.0 + near), libm::lgamma(1.0 + near), 1e-8));
    }
}
