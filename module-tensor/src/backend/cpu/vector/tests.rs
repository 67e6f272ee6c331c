use super::{double, single};
use crate::simd::{Loop, run_at_best_level};

struct Each<'a, T, F>(&'a mut [T], F);

impl<T: Copy, F: Fn(T) -> T> Loop for Each<'_, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        for v in self.0 {
            *v = (self.1)(*v);
        }
    }
}

/// The same function twice: inlined into the loop, and by a pointer, for any processor.
fn agrees<T: Copy>(
    numbers: &[T],
    inlined: impl Fn(T) -> T,
    plain: fn(T) -> T,
    bits: fn(T) -> Option<u64>,
) -> bool {
    let mut wide = numbers.to_vec();
    run_at_best_level(Each(&mut wide, inlined));
    let plain = std::hint::black_box(plain);
    let mut pairs = numbers.iter().zip(wide);
    pairs.all(|(&x, wide)| bits(plain(x)) == bits(wide))
}

/// Asserts that each of these functions agrees.
macro_rules! assert_agreement {
    ($numbers:expr, $bits:expr, $($name:ident: $function:expr;)*) => {$(
        assert!(agrees($numbers, $function, $function, $bits), stringify!($name));
    )*};
}

#[test]
fn no_level_changes_a_result() {
    let step = if cfg!(miri) { 40_000_003 } else { 65_537 };
    let numbers = (0..u32::MAX).step_by(step).map(f32::from_bits);
    let numbers: Vec<f32> = numbers.collect();
    // Any NaN is as good as another.
    let bits = |v: f32| (!v.is_nan()).then(|| u64::from(v.to_bits()));
    assert_agreement! { &numbers, bits,
        exp: single::exp;
        exp2: single::exp2;
        exp_m1: single::exp_m1;
        ln: single::ln;
        ln_1p: single::ln_1p;
        log2: single::log2;
        log10: single::log10;
        tanh: single::tanh;
        erf: single::erf;
        erfc: single::erfc;
        gelu: single::gelu;
        gelu_grad: single::gelu_grad;
        sin: single::sin;
        cos: single::cos;
        tan: single::tan;
        asin: single::asin;
        acos: single::acos;
        atan: single::atan;
        sinh: single::sinh;
        cosh: single::cosh;
        asinh: single::asinh;
        acosh: single::acosh;
        atanh: single::atanh;
        pow: |x| single::pow(x, -1.7);
        exponent: |y| single::pow(0.3, y);
        atan2: |y| single::atan2(y, -0.7);
        hypot: |x| single::hypot(x, 0.7);
    }
    let numbers: Vec<f64> = (0..40_000).map(|i| f64::from(i) * 0.037 - 740.0).collect();
    let numbers = &numbers[..if cfg!(miri) { 100 } else { numbers.len() }];
    let bits = |v: f64| (!v.is_nan()).then(|| v.to_bits());
    assert_agreement! { numbers, bits,
        exp: double::exp;
        exp2: double::exp2;
        exp_m1: double::exp_m1;
        ln: double::ln;
        ln_1p: double::ln_1p;
        tanh: double::tanh;
        sin: double::sin;
        cos: double::cos;
        pow: |x| double::pow(x, -1.7);
        exponent: |y| double::pow(0.3, y);
        hypot: |x| double::hypot(x, 0.7);
        digamma: double::digamma;
        trigamma: double::trigamma;
        lgamma: double::lgamma;
        erfinv: |x| double::erfinv_within(x * 1e-3);
    }
}

#[test]
fn exponentials_of_one_sign_have_the_bits_of_the_general_one() {
    let step = if cfg!(miri) { 40_000_003 } else { 4_099 };
    for x in (0..u32::MAX).step_by(step).map(f32::from_bits) {
        let exact = single::exp(x).to_bits();
        let same = |y: f32| y.to_bits() == exact || x.is_nan() && y.is_nan();
        assert!(x >= 1.0 || same(single::exp_of_negative(x)), "{x:e}");
        assert!(x <= -1.0 || same(single::exp_of_positive(x)), "{x:e}");
    }
    for i in 0..if cfg!(miri) { 100 } else { 400_000_u32 } {
        let x = f64::from(i) * 0.003_91 - 760.0;
        let exact = double::exp(x).to_bits();
        assert!(
            x >= 1.0 || double::exp_of_negative(x).to_bits() == exact,
            "{x:e}"
        );
        assert!(
            x <= -1.0 || double::exp_of_positive(x).to_bits() == exact,
            "{x:e}"
        );
    }
}

/// Arguments at which a function may have a value of its own.
const SPECIAL: [f64; 36] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    10.0,
    -10.0,
    89.0,
    -104.0,
    710.0,
    -746.0,
    1e-45,
    -1e-45,
    1e-40,
    -1e-310,
    5e-324,
    1e30,
    -1e30,
    1e300,
    // Whole numbers, odd and even, before and after the last odd one.
    16_777_215.0,
    -16_777_215.0,
    16_777_216.0,
    -16_777_218.0,
    // The sum of this and 2⁵² is odd, in units of its last place.
    -2.028_240_960_365_167e31,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// The distance between two numbers, in units in the last place of the second; infinite where one is NaN, or where they
/// are infinite or 0 and have other signs.
fn units(x: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    let place = f64::from(rounded.abs().next_up()) - f64::from(rounded.abs());
    distance(x.into(), rounded.into(), exact, place)
}

/// [`units`] of doubles.
fn double_units(x: f64, exact: f64) -> f64 {
    distance(x, exact, exact, exact.abs().next_up() - exact.abs())
}

fn distance(x: f64, rounded: f64, exact: f64, place: f64) -> f64 {
    if x.is_nan() && rounded.is_nan() {
        return 0.0;
    }
    if !x.is_finite() || !rounded.is_finite() || x == 0.0 && rounded == 0.0 {
        let same = x.to_bits() == rounded.to_bits();
        return if same { 0.0 } else { f64::INFINITY };
    }
    (x - exact).abs() / place
}

/// Numbers of every exponent and sign.
fn all_over() -> impl Iterator<Item = f32> {
    let numbers = (0..u32::MAX).step_by(10_007).map(f32::from_bits);
    numbers.chain(SPECIAL.map(|x| x as f32))
}

/// Asserts for each `name most: function, exact` that the function is nowhere off by more than so many units.
macro_rules! assert_accuracy {
    ($numbers:expr, $units:ident, $($name:ident $most:literal: $function:expr, $exact:expr;)*) => {
        for x in $numbers {
            let wide = f64::from(x);
            $({
                let (got, exact) = ($function(x), $exact(wide));
                assert!(
                    $units(got, exact) <= $most,
                    concat!(stringify!($name), " {:e}: {:e} and not {:e}"), x, got, exact
                );
            })*
        }
    };
}

// Polynomials in `f32` may be off by 2. What is computed in `f64` is off by ½, and by less than 0.001 of the polynomial.
#[test]
fn single_precision_is_accurate_to_the_last_digits() {
    assert_accuracy! { all_over(), units,
        exp 2.0: single::exp, f64::exp;
        exp2 2.0: single::exp2, f64::exp2;
        exp_m1 2.0: single::exp_m1, f64::exp_m1;
        ln 2.0: single::ln, f64::ln;
        ln_1p 2.0: single::ln_1p, f64::ln_1p;
        tanh 2.0: single::tanh, f64::tanh;
        erf 2.0: single::erf, libm::erf;
        erfc 0.501: single::erfc, libm::erfc;
        log2 0.501: single::log2, f64::log2;
        log10 0.501: single::log10, f64::log10;
        asin 0.501: single::asin, f64::asin;
        acos 0.501: single::acos, f64::acos;
        atan 0.501: single::atan, f64::atan;
        sinh 0.501: single::sinh, f64::sinh;
        cosh 0.501: single::cosh, f64::cosh;
        asinh 0.501: single::asinh, libm::asinh;
        acosh 0.501: single::acosh, double::acosh;
        atanh 0.501: single::atanh, libm::atanh;
    }
    let turned = all_over().filter(|x| x.is_nan() || x.abs() <= single::MOST_TURNED);
    // The greatest angles, and those next to a multiple of π/2.
    let near = (1..200_000).map(|n| (f64::from(n) * std::f64::consts::FRAC_PI_2) as f32);
    let last = (0..1000).map(|i| single::MOST_TURNED - 16.0 * i as f32);
    assert_accuracy! { turned.chain(near).chain(last), units,
        sin 0.501: single::sin, f64::sin;
        cos 0.501: single::cos, f64::cos;
        tan 0.501: single::tan, f64::tan;
    }
}

/// `x Φ(x)` and its derivative are as far from those of doubles as their formulas allow: below zero by the rounding of x² too,
/// down to the products that are no longer normal numbers.
#[test]
fn gelu_keeps_the_digits_of_small_products_below_zero() {
    let near = (0..150_000).map(|i| 1.0 - i as f32 * 1.1e-4);
    for x in all_over().chain(near).filter(|x| x.is_finite()) {
        let wide = f64::from(x);
        let square = if x < 0.0 { 0.5 * wide * wide } else { 0.0 };
        let check = |name: &str, got: f32, exact: f64, scale: f64, most: f64| {
            // Where the square is infinite, the product is 0.
            let scale = if scale.is_finite() { scale } else { 0.0 };
            // The tail, by which `x` is multiplied, may be the least number above 0 or 0 itself.
            let least = f64::from(f32::from_bits(1)) * (1.0 + wide.abs().min(15.0));
            let bound = most * scale / f64::from(1 << 24) + least;
            let error = (f64::from(got) - exact).abs();
            assert!(error <= bound, "{name} {x:e}: {got:e} and not {exact:e}");
        };
        let exact = double::gelu(wide);
        let scale = exact.abs() * (1.0 + square);
        check("gelu", single::gelu(x), exact, scale, 16.0);
        // The summands, which cancel.
        let share = if wide == 0.0 { 0.5 } else { exact / wide };
        let slope = double::gelu_grad(wide);
        let scale = (share + (slope - share).abs()) * (1.0 + square);
        check("slope", single::gelu_grad(x), slope, scale, 17.0);
    }
    assert_eq!(single::gelu(f32::INFINITY), f32::INFINITY);
    assert!(single::gelu(f32::NAN).is_nan() && single::gelu_grad(f32::NAN).is_nan());
    let quiet = f32::from_bits(0x7FC0_0155);
    assert!(single::gelu(quiet).is_nan() && single::gelu_grad(-quiet).is_nan());
    assert_eq!(single::gelu(-0.0).to_bits(), (-0.0_f32).to_bits());
}

#[test]
fn functions_of_two_numbers_are_accurate_to_the_last_digits() {
    let check = |x: f32, y: f32| {
        let (a, b) = (f64::from(x), f64::from(y));
        for (name, got, exact) in [
            ("pow", single::pow(x, y), a.powf(b)),
            ("atan2", single::atan2(x, y), a.atan2(b)),
            ("hypot", single::hypot(x, y), a.hypot(b)),
        ] {
            assert!(
                units(got, exact) <= 0.501,
                "{name} {x:e} {y:e}: {got:e} and not {exact:e}"
            );
        }
    };
    for x in SPECIAL {
        let x = x as f32;
        for y in all_over().step_by(97).chain(SPECIAL.map(|y| y as f32)) {
            check(x, y);
            check(y, x);
        }
    }
    // Any two, and such as have powers that are neither 0 nor infinite.
    let mut bits = 1_u32;
    for i in 0..300_000_u32 {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (x, place) = (f32::from_bits(bits), i as f32 * 1e-4);
        check(x, f32::from_bits(bits.rotate_left(13)));
        check(x.abs(), (place - 15.0) / x.abs().log2().abs().max(0.1));
        check(place - 15.0, (i % 23) as f32 - 11.0);
    }
}

#[test]
fn double_precision_is_accurate_to_the_last_digits() {
    let places = (0..200_000).map(|i| f64::from(i) * 0.007_25 - 725.0);
    let near = (0..100_000).map(|i| f64::from(i) * 4.1e-5 - 2.0);
    let numbers = || places.clone().chain(near.clone()).chain(SPECIAL);
    assert_accuracy! { numbers(), double_units,
        exp 3.0: double::exp, f64::exp;
        exp2 3.0: double::exp2, f64::exp2;
        exp_m1 2.0: double::exp_m1, libm::expm1;
        tanh 3.0: double::tanh, f64::tanh;
        ln 3.0: double::ln, f64::ln;
        ln_1p 2.0: double::ln_1p, libm::log1p;
    }
    let multiples = (1..200_000).map(|n| f64::from(n) * std::f64::consts::FRAC_PI_2);
    let last = (0..1000).map(|i| double::MOST_TURNED - 0.37 * f64::from(i));
    let turned = numbers().chain(multiples).chain(last);
    let turned = turned.filter(|x| x.is_nan() || x.abs() <= double::MOST_TURNED);
    assert_accuracy! { turned, double_units,
        sin 2.0: double::sin, libm::sin;
        cos 2.0: double::cos, libm::cos;
    }
}

#[test]
fn functions_of_two_doubles_are_accurate_to_the_last_digits() {
    let check = |x: f64, y: f64| {
        for (name, got, exact) in [
            ("pow", double::pow(x, y), libm::pow(x, y)),
            ("hypot", double::hypot(x, y), libm::hypot(x, y)),
        ] {
            assert!(
                double_units(got, exact) <= 2.0,
                "{name} {x:e} {y:e}: {got:e} and not {exact:e}"
            );
        }
    };
    // The largest odd numbers, and their neighbors.
    let whole = [
        4_503_599_627_370_497.0,
        9_007_199_254_740_991.0,
        9_007_199_254_740_994.0,
    ];
    for x in SPECIAL.into_iter().chain(whole) {
        for y in SPECIAL.into_iter().chain(whole.map(|y| -y)) {
            check(x, y);
        }
    }
    let mut bits = 1_u64;
    for i in 0..300_000_u32 {
        bits = bits
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let (x, place) = (f64::from_bits(bits), f64::from(i) * 1e-4);
        check(x, f64::from_bits(bits.rotate_left(29)));
        // A power within the range, and the power of a number near 1.
        check(x.abs(), (place - 15.0) * 49.0 / x.abs().ln().abs().max(0.1));
        check(
            1.0 + (place - 15.0) * 1e-4,
            (f64::from(i % 2003) - 1001.0) * 470.0,
        );
        check(place - 15.0, f64::from(i % 501) - 250.0);
    }
}
