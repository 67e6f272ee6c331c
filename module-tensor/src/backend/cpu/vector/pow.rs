//! `xʸ`

/// The power with its sign, of the one that was computed from the magnitude of `x`, and the values of the C standard where
/// `x` or `y` is 0, infinite or NaN.
#[inline(always)]
fn of_any_sign(x: f64, y: f64, power: f64) -> f64 {
    // 2⁵², whose last bit stands for 1.
    const UNITS: f64 = 4_503_599_627_370_496.0;

    let one = (y == 0.0) | (x == 1.0) | ((x == -1.0) & (y.abs() == f64::INFINITY));
    let power = if one { 1.0 } else { power };
    // Numbers from 2⁵² on are whole, and from 2⁵³ on even.
    let large = y.abs() >= UNITS;
    let shifted = if large { y.abs() } else { y.abs() + UNITS };
    let whole = large | (shifted - UNITS == y.abs());
    let may_be_odd = whole & (y.abs() < 2.0 * UNITS);
    let odd = if may_be_odd {
        shifted.to_bits() << 63
    } else {
        0
    };
    let power = f64::from_bits(power.to_bits() ^ (odd & x.to_bits()));
    if (x < 0.0) & (x > f64::NEG_INFINITY) & !whole {
        f64::NAN
    } else {
        power
    }
}

/// The logarithm `y` of a magnitude `x` that may be 0, infinite or NaN.
#[inline(always)]
fn at_bounds(x: f64, y: f64) -> f64 {
    let y = if x < f64::INFINITY { y } else { x };
    if x == 0.0 { f64::NEG_INFINITY } else { y }
}

pub(super) mod single {
    use super::super::base_2::single::{log2_of_positive, power_of_2};
    use super::{at_bounds, of_any_sign};

    /// `xʸ`
    #[inline(always)]
    pub(in super::super::super) fn pow(x: f32, y: f32) -> f32 {
        let (x, y) = (f64::from(x), f64::from(y));
        let log = at_bounds(x.abs(), log2_of_positive(x.abs()));
        of_any_sign(x, y, power_of_2(y * log)) as f32
    }
}

pub(super) mod double {
    use super::super::exponential::double::exp_of_sum;
    use super::{at_bounds, of_any_sign};

    /// `xʸ`, from a logarithm of about 64 bits, whose error counts as often as the exponent of the power is large.
    #[inline(always)]
    pub(in super::super::super) fn pow(x: f64, y: f64) -> f64 {
        let (log, rest) = ln_of_positive(x.abs());
        let log = at_bounds(x.abs(), log);
        let product = y * log;
        let lost = y.mul_add(log, -product);
        // It is NaN or infinite where the product is infinite, or where the power is 1.
        let lost = y.mul_add(rest, lost);
        let lost = if product.abs() < 1000.0 { lost } else { 0.0 };
        of_any_sign(x, y, exp_of_sum(product, lost))
    }

    /// The product, and what rounding it lost.
    #[inline(always)]
    fn product(a: f64, b: f64) -> (f64, f64) {
        let product = a * b;
        (product, a.mul_add(b, -product))
    }

    /// The sum, and what rounding it lost, of a number that is 0 or not less in magnitude than the other.
    #[inline(always)]
    fn sum(larger: f64, smaller: f64) -> (f64, f64) {
        let sum = larger + smaller;
        (sum, smaller - (sum - larger))
    }

    /// `ln x` of a positive number as a sum of two, within 2^-63.
    #[inline(always)]
    fn ln_of_positive(x: f64) -> (f64, f64) {
        // The first 42 bits of ln 2, whose product with an exponent is exact, and the next ones.
        const LN_2: [f64; 2] = [0.693_147_180_559_890_3, 5.497_923_018_708_371E-14];
        const TWO_THIRDS: [f64; 2] = [0.666_666_666_666_666_6, 3.700_743_415_417_188E-17];
        const UNITS: f64 = 4_503_599_627_370_496.0;
        const EXPONENT: u64 = 0x7ff0_0000_0000_0000;

        // x = 2ᵉ m with m in [√½, √2); a subnormal number is scaled to one that has an exponent.
        let tiny = x < f64::MIN_POSITIVE;
        let scaled = if tiny { x * UNITS } else { x };
        let root = std::f64::consts::FRAC_1_SQRT_2.to_bits();
        let bits = scaled.to_bits().wrapping_sub(root).wrapping_add(1023 << 52);
        let m = f64::from_bits((bits & !EXPONENT).wrapping_add(root));
        let e = f64::from_bits((bits >> 52) | UNITS.to_bits()) - (UNITS + 1023.0);
        let e = if tiny { e - 52.0 } else { e };

        // s = (m - 1) / (m + 1), for ln m = 2s + s³ (⅔ + …)
        let (above, below) = (m - 1.0, m + 1.0);
        let below_rest = above - (below - 2.0);
        let inverse = below.recip();
        let s = above * inverse;
        let s_rest = inverse * (-s).mul_add(below_rest, (-s).mul_add(below, above));
        let (z, z_rest) = product(s, s);
        let z_rest = (2.0 * s).mul_add(s_rest, z_rest);
        // The terms after ⅔, interpolated at Chebyshev nodes within 2^-66 of the whole.
        let p = z * polynomial!(
            z,
            1.172_317_862_387_651_8E-1,
            1.170_623_633_949_120_6E-1,
            1.333_480_469_384_731E-1,
            1.538_459_496_251_843E-1,
            1.818_181_833_539_280_2E-1,
            2.222_222_222_165_588_5E-1,
            2.857_142_857_142_936_4E-1,
            0.4
        );
        let (p, p_rest) = sum(TWO_THIRDS[0], p);
        let p_rest = p_rest + TWO_THIRDS[1];
        let (cube, cube_rest) = product(s, z);
        let cube_rest = s.mul_add(z_rest, s_rest.mul_add(z, cube_rest));
        let (tail, tail_rest) = product(cube, p);
        let tail_rest = cube.mul_add(p_rest, cube_rest.mul_add(p, tail_rest));

        let (log, log_rest) = sum(2.0 * s, tail);
        let log_rest = 2.0_f64.mul_add(s_rest, log_rest + tail_rest);
        let (whole, whole_rest) = sum(e * LN_2[0], log);
        sum(whole, e.mul_add(LN_2[1], whole_rest + log_rest))
    }
}
