//! Single-precision `log`, `sin` and `cos` as PyTorch's AVX2 kernel evaluates them.
//!
//! The polynomials are those of S. Moshier's Cephes library. What matters here is not their accuracy
//! but that every rounding falls where it falls in PyTorch's build, whose compiler fused some of the
//! multiplications with the additions that follow them and not others.

// The constants are written with the digits they were published with.
#![allow(clippy::excessive_precision, clippy::inline_always)]

use super::fused::fused_f32;

const LN_COEFFICIENTS: [f32; 9] = [
    7.037_683_629_2E-2,
    -1.151_461_031_0E-1,
    1.167_699_874_0E-1,
    -1.242_014_084_6E-1,
    1.424_932_278_7E-1,
    -1.666_805_766_5E-1,
    2.000_071_476_5E-1,
    -2.499_999_399_3E-1,
    3.333_333_117_4E-1,
];
/// ln 2 in two parts, the greater one short enough to be multiplied by an exponent exactly.
const LN_2_LOW: f32 = -2.121_944_40e-4;
const LN_2_HIGH: f32 = 0.693_359_375;

/// The natural logarithm of a number in (0, 1] that is not subnormal.
#[inline(always)]
pub(super) fn ln<const FMA: bool>(x: f32) -> f32 {
    let bits = x.to_bits();
    // The mantissa is brought into [√½, √2), where the polynomial holds.
    let mantissa = f32::from_bits((bits & 0x807f_ffff) | 0x3f00_0000);
    let below = mantissa < std::f32::consts::FRAC_1_SQRT_2;
    let exponent = (bits >> 23) as i32 - 126 - i32::from(below);
    let e = exponent as f32;
    let x = (mantissa - 1.0) + if below { mantissa } else { 0.0 };
    let z = x * x;

    let [first, rest @ ..] = LN_COEFFICIENTS;
    let mut y = first;
    for coefficient in rest {
        y = fused_f32::<FMA>(y, x, coefficient);
    }
    y *= x;
    y = fused_f32::<FMA>(y, z, e * LN_2_LOW);
    y = fused_f32::<FMA>(-z, 0.5, y);
    fused_f32::<FMA>(e, LN_2_HIGH, x + y)
}

const FOUR_OVER_PI: f32 = 1.273_239_544_735_16;

/// The sine and the cosine of a number from 0 to a few thousand.
#[inline(always)]
pub(super) fn sin_cos<const FMA: bool>(x: f32) -> (f32, f32) {
    // The octant, odd ones counted to the next: the argument is then at most π/4 away from zero.
    let octant = ((x * FOUR_OVER_PI) as i32 + 1) & !1;
    let y = octant as f32;
    // π/4 in three parts, so that little is lost in the subtraction.
    let x = fused_f32::<FMA>(y, -0.785_156_25, x);
    let x = fused_f32::<FMA>(y, -2.418_756_484_985_351_562_5e-4, x);
    let x = fused_f32::<FMA>(y, -3.774_894_977_445_941_08e-8, x);
    let z = x * x;

    let mut c = 2.443_315_711_809_948E-5;
    c = fused_f32::<FMA>(c, z, -1.388_731_625_493_765E-3);
    c = fused_f32::<FMA>(c, z, 4.166_664_568_298_827E-2);
    c = fused_f32::<FMA>(c * z, z, -(z * 0.5)) + 1.0;

    let mut s = -1.951_529_589_1E-4;
    s = fused_f32::<FMA>(s, z, 8.332_160_873_6E-3);
    s = fused_f32::<FMA>(s, z, -1.666_665_461_1E-1);
    s = fused_f32::<FMA>(s * z, x, x);

    let (sin, cos) = if octant & 2 == 0 { (s, c) } else { (c, s) };
    (
        if octant & 4 == 0 { sin } else { -sin },
        if (octant - 2) & 4 == 0 { -cos } else { cos },
    )
}
