//! Sine, cosine and tangent.

/// `2/π · x`, shifted so that the nearest whole number stands in the last bits.
#[inline(always)]
fn quarters(x: f64) -> f64 {
    x.mul_add(std::f64::consts::FRAC_2_PI, WHOLE)
}

/// The sum with it has units of 1.
const WHOLE: f64 = 6_755_399_441_055_744.0;

/// The first 53 bits of π/2, the 53 bits after them, and the next ones.
const HALF_PI: [f64; 3] = [
    std::f64::consts::FRAC_PI_2,
    6.123_233_995_736_766E-17,
    -1.497_384_904_859_169_8E-33,
];

/// `y` with its sign changed where the second last bit of a whole number is set.
#[inline(always)]
fn with_sign(y: f64, whole: u64) -> f64 {
    f64::from_bits(y.to_bits() ^ ((whole & 2) << 62))
}

pub(super) mod single {
    use super::{HALF_PI, WHOLE, quarters};

    /// The largest number whose rest the functions here compute; the standard library has those of larger ones.
    pub(in super::super::super) const MOST_TURNED: f32 = 268_435_456.0;

    /// π, and its rest.
    const PI: [f64; 2] = [2.0 * HALF_PI[0], 2.0 * HALF_PI[1]];

    /// The sine of `r`, between -π/2 and π/2, within 2^-35; of the other sign where a whole number, in the last bits of
    /// `shifted`, is odd.
    #[inline(always)]
    fn sin_of(shifted: f64, r: f64) -> f32 {
        let z = r * r;
        let share = polynomial!(
            z,
            -2.386_834_795_258_095E-8,
            2.752_397_117_917_842_6E-6,
            -1.984_083_282_588_710_3E-4,
            8.333_330_720_583_865E-3,
            -1.666_666_660_882_693_8E-1,
            9.999_999_999_788_495E-1
        );
        let r = f64::from_bits(r.to_bits() ^ (shifted.to_bits() << 63));
        (r * share) as f32
    }

    /// `x - n π`
    #[inline(always)]
    fn without_half_turns(x: f64, n: f64) -> f64 {
        (-n).mul_add(PI[1], (-n).mul_add(PI[0], x))
    }

    /// `sin x`
    #[inline(always)]
    pub(in super::super::super) fn sin(x: f32) -> f32 {
        let x = f64::from(x);
        let shifted = x.mul_add(std::f64::consts::FRAC_1_PI, WHOLE);
        sin_of(shifted, without_half_turns(x, shifted - WHOLE))
    }

    /// `cos x`
    #[inline(always)]
    pub(in super::super::super) fn cos(x: f32) -> f32 {
        // cos x = sin(x + π/2) = ± sin(x - (n - ½) π)
        let x = f64::from(x);
        let shifted = x.mul_add(std::f64::consts::FRAC_1_PI, 0.5) + WHOLE;
        sin_of(shifted, without_half_turns(x, (shifted - WHOLE) - 0.5))
    }

    /// The number of quarter turns in `x`, in the last bits, and what is left of `x`, between -π/4 and π/4.
    #[inline(always)]
    fn turned(x: f32) -> (u64, f64) {
        let x = f64::from(x);
        let shifted = quarters(x);
        let n = shifted - WHOLE;
        let rest = (-n).mul_add(HALF_PI[1], (-n).mul_add(HALF_PI[0], x));
        (shifted.to_bits(), rest)
    }

    /// `tan x`, from a quotient of polynomials within 2^-35.
    #[inline(always)]
    pub(in super::super::super) fn tan(x: f32) -> f32 {
        let (quarters, r) = turned(x);
        let z = r * r;
        let sin = r * polynomial!(
            z,
            1.074_843_485_305_343_7E-3,
            -1.113_569_346_990_850_3E-1,
            1.000_000_000_018_323_8
        );
        let cos = polynomial!(
            z,
            1.597_158_046_163_992_7E-2,
            -4.446_902_665_570_933_7E-1,
            1.0
        );
        let odd = quarters & 1 == 1;
        let (above, below) = if odd { (-cos, sin) } else { (sin, cos) };
        (above / below) as f32
    }
}

pub(super) mod double {
    use super::{HALF_PI, WHOLE, quarters, with_sign};

    /// The largest number whose rest the functions here compute; the standard library has those of larger ones.
    pub(in super::super::super) const MOST_TURNED: f64 = 67_108_864.0;

    pub(in super::super::super) fn tan(x: f64) -> f64 {
        x.tan()
    }

    /// The number of quarter turns in `x`, in the last bits, and what is left of `x`, between -π/4 and π/4, as a number
    /// and its correction.
    #[inline(always)]
    fn turned(x: f64) -> (u64, f64, f64) {
        let shifted = quarters(x);
        let n = shifted - WHOLE;
        // Exact, as it has no bits below those of `HALF_PI[0]`.
        let first = (-n).mul_add(HALF_PI[0], x);
        let product = n * HALF_PI[1];
        let rest = first - product;
        let lost = (first - rest) - product;
        let below = n.mul_add(HALF_PI[1], -product);
        (
            shifted.to_bits(),
            rest,
            (-n).mul_add(HALF_PI[2], lost - below),
        )
    }

    /// The sine after so many quarter turns, from the polynomials of Cephes.
    #[inline(always)]
    fn sin_of(quarters: u64, r: f64, correction: f64) -> f64 {
        let z = r * r;
        let p = polynomial!(
            z,
            1.589_623_015_765_465_680_60E-10,
            -2.505_074_776_285_780_728_66E-8,
            2.755_731_362_138_572_452_13E-6,
            -1.984_126_982_958_953_859_96E-4,
            8.333_333_333_322_118_588_78E-3,
            -1.666_666_666_666_663_072_95E-1
        );
        // sin(r + c) = sin r + c cos r
        let sin = r + (r * z).mul_add(p, correction * (-0.5_f64).mul_add(z, 1.0));
        let p = polynomial!(
            z,
            -1.135_853_652_138_768_173_00E-11,
            2.087_570_084_197_473_167_78E-9,
            -2.755_731_417_929_673_881_12E-7,
            2.480_158_728_885_170_453_48E-5,
            -1.388_888_888_887_305_641_16E-3,
            4.166_666_666_666_659_292_18E-2
        );
        // cos(r + c) = cos r - c sin r, where 1 - z/2 is rounded and its rest added.
        let half = 0.5 * z;
        let most = 1.0 - half;
        let lost = (1.0 - most) - half;
        let cos = most + (z * z).mul_add(p, (-r).mul_add(correction, lost));
        let y = if quarters & 1 == 0 { sin } else { cos };
        with_sign(y, quarters)
    }

    /// `sin x`
    #[inline(always)]
    pub(in super::super::super) fn sin(x: f64) -> f64 {
        let (quarters, rest, correction) = turned(x);
        let y = sin_of(quarters, rest, correction);
        // -0 stays.
        if x == 0.0 { x } else { y }
    }

    /// `cos x`
    #[inline(always)]
    pub(in super::super::super) fn cos(x: f64) -> f64 {
        let (quarters, rest, correction) = turned(x);
        sin_of(quarters.wrapping_add(1), rest, correction)
    }
}
