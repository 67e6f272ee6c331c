//! The exponential, its difference from 1, powers of 2, and `tanh`.

/// The exponential, which differs between the widths in its constants and in its approximations of `eʳ - 1`: one for
/// half of `ln 2`, and one for ½.
macro_rules! exponential {
    ($float:ident, $int:ident, $bits:ident, $mantissa:expr, $bias:expr, $range:expr, $ln_2:expr, $of_rest:expr, $near_zero:expr) => {
        /// `y` and `n` of `eˣ = y 2ⁿ`, where `n` stands in the last bits of a number.
        #[inline(always)]
        fn parts(x: $float) -> ($float, $float) {
            let shifted = shifted(x);
            ($of_rest(rest(x, shifted)) + 1.0, shifted)
        }

        /// The number whose last bits are the whole number that is nearest to `x / ln 2`.
        #[inline(always)]
        fn shifted(x: $float) -> $float {
            // Adding 1.5 times the number whose last place is 1 rounds to a whole number, which then
            // stands in the last bits.
            x.mul_add(std::$float::consts::LOG2_E, MAGIC)
        }

        /// `x - n ln 2`
        #[inline(always)]
        fn rest(x: $float, shifted: $float) -> $float {
            let n = shifted - MAGIC;
            (-n).mul_add($ln_2.1, (-n).mul_add($ln_2.0, x))
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
        pub(in super::super::super) fn exp(x: $float) -> $float {
            let (x, vanishes) = bounded(x, $range);
            let (y, shifted) = parts(x);
            scaled(y, shifted, vanishes)
        }

        /// `2ˣ`
        #[inline(always)]
        pub(in super::super::super) fn exp2(x: $float) -> $float {
            use std::$float::consts::{LN_2, LOG2_E};

            let (x, vanishes) = bounded(x, ($range.0 * LOG2_E, $range.1 * LOG2_E));
            let shifted = x + MAGIC;
            let rest = x - (shifted - MAGIC);
            scaled($of_rest(LN_2 * rest) + 1.0, shifted, vanishes)
        }

        /// A number whose power is that of `x` or infinite too, and whether the power rounds to 0.
        #[inline(always)]
        fn bounded(x: $float, range: ($float, $float)) -> ($float, bool) {
            // A NaN passes both. What rounds to 0 is not computed: products that underflow take many
            // times as long, and a mask of attention makes whole rows of them.
            let vanishes = x < range.0;
            let x = if x > range.1 { range.1 } else { x };
            (if vanishes { 0.0 } else { x }, vanishes)
        }

        /// `y 2ⁿ`, or 0.
        #[inline(always)]
        fn scaled(y: $float, shifted: $float, vanishes: bool) -> $float {
            // In two steps, because the power of two may lie outside the exponents there are.
            let n = whole(shifted);
            let half = n >> 1;
            let y = y * power(half) * power(n.wrapping_sub(half));
            if vanishes { 0.0 } else { y }
        }

        /// `eˣ - 1`
        #[inline(always)]
        pub(in super::super::super) fn exp_m1(x: $float) -> $float {
            // Beyond these bounds, it is infinite or rounds to -1. A NaN passes both.
            let bounded = if x > $range.1 { $range.1 } else { x };
            let bounded = if x < -40.0 { -40.0 } else { bounded };
            // Up to ½, where the difference would cancel, it is the approximation alone.
            let near = x.abs() < 0.5;
            let shifted = if near { MAGIC } else { shifted(bounded) };
            let y = $near_zero(rest(bounded, shifted));
            // 2ⁿ (y + 1) - 1, halved, because 2ⁿ may be too large.
            let half = power(whole(shifted).wrapping_sub(1));
            let far = 2.0 * y.mul_add(half, half - 0.5);
            (if near { y } else { far }).copysign(x)
        }

        /// The bits of [`exp`] in fewer steps, of a number that is below 1.
        #[inline(always)]
        pub(in super::super::super) fn exp_of_negative(x: $float) -> $float {
            let vanishes = x < $range.0;
            let (y, shifted) = parts(if vanishes { 0.0 } else { x });
            // Only the second product is rounded, as there.
            let y = y * power(whole(shifted).wrapping_add(FAR)) * power(-FAR);
            if vanishes { 0.0 } else { y }
        }

        /// The bits of [`exp`] in fewer steps, of a number that is above -1.
        #[inline(always)]
        pub(in super::super) fn exp_of_positive(x: $float) -> $float {
            let x = if x > $range.1 { $range.1 } else { x };
            let (y, shifted) = parts(x);
            y * power(whole(shifted).wrapping_sub(FAR)) * power(FAR)
        }
    };
}

pub(super) mod single {
    exponential!(
        f32,
        i32,
        u32,
        23,
        127,
        (-104.0, 89.0),
        (0.693_359_375, -2.121_944_40e-4),
        |r: f32| {
            let p = polynomial!(
                r,
                1.987_569_150_0E-4,
                1.398_199_950_7E-3,
                8.333_451_907_3E-3,
                4.166_579_589_4E-2,
                1.666_666_545_9E-1,
                5.000_000_120_1E-1
            );
            (r * r).mul_add(p, r)
        },
        |r: f32| {
            // Fitted for the least relative error, which is 2^-32.8.
            let p = polynomial!(
                r,
                2.482_136_55E-5,
                1.996_464_42E-4,
                1.388_910_11E-3,
                8.333_175_44E-3,
                4.166_666_42E-2,
                1.666_666_72E-1,
                0.5
            );
            (r * r).mul_add(p, r)
        }
    );

    /// `tanh x`
    #[inline(always)]
    pub(in super::super::super) fn tanh(x: f32) -> f32 {
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
        let far = 1.0 - 2.0 / (exp_of_positive(2.0 * x.abs()) + 1.0);
        (if x.abs() < 0.625 { near } else { far }).copysign(x)
    }
}

pub(super) mod double {
    exponential!(
        f64,
        i64,
        u64,
        52,
        1023,
        (-746.0, 710.0),
        (6.931_457_519_531_25E-1, 1.428_606_820_309_417_232_12E-6),
        |r: f64| {
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
            2.0 * (p / (q - p))
        },
        near_zero
    );

    /// `eʳ - 1` for `r` of at most ½.
    #[inline(always)]
    fn near_zero(r: f64) -> f64 {
        // Interpolated at Chebyshev nodes within 2^-57.8.
        let p = polynomial!(
            r,
            1.611_649_651_437_154_8E-10,
            2.096_295_581_597_607_6E-9,
            2.505_194_670_972_162E-8,
            2.755_707_663_664_272_5E-7,
            2.755_731_943_362_024E-6,
            2.480_158_761_614_541_4E-5,
            1.984_126_984_114_699_3E-4,
            1.388_888_888_870_455E-3,
            8.333_333_333_333_36E-3,
            4.166_666_666_666_706E-2,
            1.666_666_666_666_666_6E-1,
            0.5
        );
        (r * r).mul_add(p, r)
    }

    /// `e^(x + rest)` for a rest that is less than the last place of `x`, within one unit in the last place.
    #[inline(always)]
    pub(in super::super) fn exp_of_sum(x: f64, rest: f64) -> f64 {
        // The first 42 bits of ln 2, whose product with an exponent is exact, and the next ones.
        const LN_2: [f64; 2] = [0.693_147_180_559_890_3, 5.497_923_018_708_371E-14];

        let (x, vanishes) = bounded(x, (-746.0, 710.0));
        let shifted = shifted(x);
        let n = shifted - MAGIC;
        let r = (-n).mul_add(LN_2[0], x) + (-n).mul_add(LN_2[1], rest);
        scaled(near_zero(r) + 1.0, shifted, vanishes)
    }

    /// `tanh x`
    #[inline(always)]
    pub(in super::super::super) fn tanh(x: f64) -> f64 {
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
        let far = 1.0 - 2.0 / (exp_of_positive(2.0 * x.abs()) + 1.0);
        (if x.abs() < 0.625 { near } else { far }).copysign(x)
    }
}
