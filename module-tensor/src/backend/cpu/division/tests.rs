//! Divisions of all magnitudes, compared with the standard library's.

use crate::backend::cpu::fmod::single;
use crate::{Result, Tensor, Value, set_num_threads};

const DIVISORS: [f32; 14] = [
    0.1,
    0.3,
    1.0,
    -0.7,
    3.0,
    1e-3,
    7.25e5,
    1e-40,
    -1e-45,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    0.0,
    f32::NAN,
];

/// Numbers of all magnitudes, and multiples of the divisors with their neighbors.
fn numbers() -> Vec<f32> {
    let step = if cfg!(miri) { 400_000_001 } else { 2_000_003 };
    let all = (0..u32::MAX).step_by(step).map(f32::from_bits);
    let near = (-2000..2000).map(|i| i as f32 * 0.1);
    let mut numbers: Vec<f32> = all.chain(near).collect();
    for i in [1, 2, 3, 1000, (1 << 21) - 1, 1 << 21, (1 << 22) + 1] {
        for b in DIVISORS {
            let multiple = i as f32 * b;
            numbers.extend([
                multiple.next_down(),
                multiple,
                multiple.next_up(),
                -multiple,
            ]);
        }
    }
    numbers
}

/// The formula of the remainder, from the library's rest.
fn remainder(a: f32, b: f32) -> f32 {
    let rest = a % b;
    match rest != 0.0 && (rest < 0.0) != (b < 0.0) {
        true => rest + b,
        false => rest,
    }
}

/// The formula of floor division, from the library's rest.
fn floor_divided(a: f32, b: f32) -> f32 {
    if b == 0.0 {
        return a / b;
    }
    let rest = a % b;
    let below = rest != 0.0 && (rest < 0.0) != (b < 0.0);
    let quotient = (a - rest) / b - if below { 1.0 } else { 0.0 };
    if quotient == 0.0 {
        return 0.0_f32.copysign(a / b);
    }
    let whole = quotient.floor();
    if quotient - whole > 0.5 {
        whole + 1.0
    } else {
        whole
    }
}

/// Compares all three operations with their formulas.
fn check<'a>(x: &Tensor, b: impl Into<Value<'a>>, pairs: impl Iterator<Item = (f32, f32)>) {
    let b = b.into();
    let values = |x: Result<Tensor>| x.unwrap().to_vec::<f32>().unwrap();
    let remainders = values(x.remainder(b.clone()));
    let (rests, quotients) = (values(x.fmod(b.clone())), values(x.floor_divide(b)));
    for (i, (a, b)) in pairs.enumerate() {
        assert_same(remainders[i], remainder(a, b), a, b);
        assert_same(rests[i], a % b, a, b);
        assert_same(quotients[i], floor_divided(a, b), a, b);
    }
}

fn assert_same(got: f32, want: f32, a: f32, b: f32) {
    let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
    assert!(same, "the rest of {a:e} by {b:e} is {want:e}, not {got:e}");
}

#[test]
fn the_remainder_is_the_librarys() {
    let numbers = numbers();
    for &a in &numbers {
        for b in DIVISORS
            .into_iter()
            .chain(numbers.iter().copied().step_by(97))
        {
            assert_same(single(a, b), a % b, a, b);
        }
    }
}

#[test]
fn tensors_are_divided_as_their_elements_are() {
    let numbers = numbers();
    let x = Tensor::from_vec(numbers.clone(), [numbers.len()]).unwrap();
    for threads in [1, 3] {
        set_num_threads(threads);
        for b in DIVISORS {
            check(&x, b, numbers.iter().map(|&a| (a, b)));
        }
        // Pieces with and without numbers that are not divided in the quick way.
        for shift in [1, 1000, 1024] {
            let mut others = numbers.clone();
            others.rotate_left(shift);
            let y = Tensor::from_vec(others.clone(), [others.len()]).unwrap();
            check(&x, &y, numbers.iter().copied().zip(others));
        }
    }
}
