//! The logarithm, and that of `1 + x`.

/// The logarithm, which differs between the widths in its constants and its rational function.
macro_rules! logarithm {
    ($float:ident, $int:ident, $bits:ident, $mantissa:expr, |$r:ident, $z:ident| $cubic:expr) => {
        /// `ln x`
        #[inline(always)]
        pub(in super::super::super) fn ln(x: $float) -> $float {
            // A subnormal number is scaled to one that has an exponent.
            let (scaled, less) = if x < $float::MIN_POSITIVE {
                (x * ((1 as $int) << $mantissa) as $float, $mantissa)
            } else {
                (x, 0)
            };
            // The fraction is brought into [√½, √2), where the approximation holds.
            let bits = scaled.to_bits() as $int;
            let root = std::$float::consts::FRAC_1_SQRT_2.to_bits() as $int;
            let e = bits.wrapping_sub(root) >> $mantissa;
            let fraction = $float::from_bits(bits.wrapping_sub(e << $mantissa) as $bits);
            at_bounds(x, of_parts((e - less) as $float, fraction - 1.0))
        }

        /// `ln(2ᵉ (1 + r))` for `1 + r` in [√½, √2)
        #[inline(always)]
        fn of_parts(e: $float, $r: $float) -> $float {
            let $z = $r * $r;
            let y: $float = $cubic;
            let y = e.mul_add(-2.121_944_400_546_905_827_679E-4, y) - 0.5 * $z;
            e.mul_add(0.693_359_375, $r + y)
        }

        /// The logarithm `y` of `x`, which is computed falsely where `x` is not positive and finite.
        #[inline(always)]
        fn at_bounds(x: $float, y: $float) -> $float {
            let y = if x < $float::INFINITY { y } else { x };
            let y = if x == 0.0 { $float::NEG_INFINITY } else { y };
            if x < 0.0 { $float::NAN } else { y }
        }

        /// `ln(1 + x)`
        #[inline(always)]
        pub(in super::super::super) fn ln_1p(x: $float) -> $float {
            // The rounded sum only determines the exponent e. What the approximation needs,
            // r = (1 + x) 2⁻ᵉ - 1, is x 2⁻ᵉ + (2⁻ᵉ - 1), which is rounded once.
            let sum = 1.0 + x;
            let root = std::$float::consts::FRAC_1_SQRT_2.to_bits() as $int;
            let e = (sum.to_bits() as $int).wrapping_sub(root) >> $mantissa;
            // 4 2⁻ᵉ, because 2⁻ᵉ may be too small.
            let four = (4.0 as $float).to_bits() as $int;
            let scale = $float::from_bits(four.wrapping_sub(e << $mantissa) as $bits);
            let r = (0.25 as $float).mul_add(x * scale, (0.25 as $float).mul_add(scale, -1.0));
            let y = at_bounds(sum, of_parts(e as $float, r));
            // -0 stays.
            if x == 0.0 { x } else { y }
        }
    };
}

pub(super) mod single {
    logarithm!(f32, i32, u32, 23, |r, z| {
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
}

pub(super) mod double {
    logarithm!(f64, i64, u64, 52, |r, z| {
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
}
