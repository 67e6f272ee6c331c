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

#[test]
fn no_level_changes_a_result() {
    let step = if cfg!(miri) { 40_000_003 } else { 65_537 };
    let numbers = (0..u32::MAX).step_by(step).map(f32::from_bits);
    let numbers: Vec<f32> = numbers.collect();
    // Any NaN is as good as another.
    let bits = |v: f32| (!v.is_nan()).then(|| u64::from(v.to_bits()));
    assert!(agrees(&numbers, single::exp, single::exp, bits));
    assert!(agrees(&numbers, single::ln, single::ln, bits));
    assert!(agrees(&numbers, single::tanh, single::tanh, bits));
    assert!(agrees(&numbers, single::erf, single::erf, bits));
    assert!(agrees(&numbers, single::gelu, single::gelu, bits));
    let numbers: Vec<f64> = (0..40_000).map(|i| f64::from(i) * 0.037 - 740.0).collect();
    let numbers = &numbers[..if cfg!(miri) { 100 } else { numbers.len() }];
    let bits = |v: f64| (!v.is_nan()).then(|| v.to_bits());
    assert!(agrees(numbers, double::exp, double::exp, bits));
    assert!(agrees(numbers, double::ln, double::ln, bits));
    assert!(agrees(numbers, double::tanh, double::tanh, bits));
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

/// The distance between two numbers, in units in the last place of the second.
fn units(x: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if x == rounded || x.is_nan() && rounded.is_nan() {
        return 0.0;
    }
    let unit = f64::from(rounded.abs().next_up()) - f64::from(rounded.abs());
    (f64::from(x) - exact).abs() / unit
}

/// Numbers of every exponent and sign.
fn all_over() -> impl Iterator<Item = f32> {
    (0..u32::MAX).step_by(10_007).map(f32::from_bits)
}

#[test]
fn single_precision_is_true_to_the_last_places() {
    for x in all_over() {
        let wide = f64::from(x);
        for (name, got, exact, most) in [
            ("exp", single::exp(x), wide.exp(), 2.0),
            ("tanh", single::tanh(x), wide.tanh(), 2.0),
            ("erf", single::erf(x), libm::erf(wide), 2.0),
            ("ln", single::ln(x), wide.ln(), 2.0),
        ] {
            assert!(
                units(got, exact) <= most,
                "{name} {x:e}: {got:e} and not {exact:e}"
            );
        }
    }
}

#[test]
fn double_precision_is_true_to_the_last_places() {
    let places = (0..200_000).map(|i| f64::from(i) * 0.007_25 - 725.0);
    let near = (0..100_000).map(|i| f64::from(i) * 4.1e-5 - 2.0);
    let special = [
        0.0,
        -0.0,
        f64::INFINITY,
        -f64::INFINITY,
        f64::NAN,
        1e-310,
        709.7,
        710.0,
        -745.1,
        1e300,
    ];
    for x in places.chain(near).chain(special) {
        for (name, got, exact) in [
            ("exp", double::exp(x), x.exp()),
            ("tanh", double::tanh(x), x.tanh()),
            ("ln", double::ln(x), x.ln()),
        ] {
            let unit = exact.abs().next_up() - exact.abs();
            let same = got == exact || got.is_nan() && exact.is_nan();
            assert!(
                same || (got - exact).abs() <= 3.0 * unit,
                "{name} {x:e}: {got:e} and not {exact:e}"
            );
        }
    }
}
