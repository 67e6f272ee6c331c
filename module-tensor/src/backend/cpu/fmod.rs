//! What a division leaves.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::narrow::Widened;
use super::number::{FromScalar, Number};
use super::simd::{Loop, run_at_best_level};
use super::{BinaryOp, Operand, Storage};
use crate::zip::{zip_mut, zip_mut2};
use crate::{Result, Scalar};

/// The rest of `a`, exactly, with the sign of `a`.
///
/// The library's function, which divides bit by bit, has the rest where the quotient is large or infinite.
#[inline]
pub(super) fn single(a: f32, b: f32) -> f32 {
    match quick(a, b, a.abs() / b.abs()) {
        (rest, true) => rest,
        (_, false) => a % b,
    }
}

#[inline]
pub(super) fn double(a: f64, b: f64) -> f64 {
    a % b
}

/// From here on, the nearest whole number may be more than one away from the quotient.
const LARGE: f32 = (1_u32 << 21) as f32;

/// From here on, neighbors in `f32` are 1 apart.
const WHOLE: f32 = (1_u32 << 23) as f32;

/// The rest, exactly, with the sign of `a`, and whether that is what it is: the quotient of the magnitudes must be small,
/// and the divisor finite. The quotient may be off by two units in the last place.
///
/// A whole number next to the quotient has at most 22 bits, so that its product with the divisor is exact in `f64`, and so
/// are the difference and the sum. If the whole number is the one above the quotient, the difference is negative, and the
/// divisor is added back.
#[inline(always)]
fn quick(a: f32, b: f32, quotient: f32) -> (f32, bool) {
    let is_small = (quotient < LARGE) & (b.abs() < f32::INFINITY);
    // Rounded to a whole number by the sum.
    let whole = (quotient + WHOLE) - WHOLE;
    let (a_wide, b_wide) = (f64::from(a.abs()), f64::from(b.abs()));
    let rest = a_wide - f64::from(whole) * b_wide;
    let rest = rest + if rest < 0.0 { b_wide } else { 0.0 };
    ((rest as f32).copysign(a), is_small)
}

/// What is made of a rest with the sign of the dividend.
trait Signed: Copy + Sync {
    fn of(self, rest: f32, b: f32) -> f32;
}

#[derive(Clone, Copy)]
struct OfDividend;

impl Signed for OfDividend {
    #[inline(always)]
    fn of(self, rest: f32, _: f32) -> f32 {
        rest
    }
}

#[derive(Clone, Copy)]
struct OfDivisor;

impl Signed for OfDivisor {
    #[inline(always)]
    fn of(self, rest: f32, b: f32) -> f32 {
        rest.with_sign_of(b)
    }
}

/// How many numbers are computed before it is known whether the steps for small quotients were right for all.
const PIECE: usize = 1024;

/// The rests of pairs: the remainder with the sign of the divisor, or `fmod`.
pub(super) fn rests(op: BinaryOp, a: &Operand, b: &Operand) -> Result<Storage> {
    match op {
        BinaryOp::Fmod => rests_of(OfDividend, a, b),
        _ => rests_of(OfDivisor, a, b),
    }
}

fn rests_of(sign: impl Signed, a: &Operand, b: &Operand) -> Result<Storage> {
    f32::each([a, b], 1, &|[a, b], out| {
        let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
        for ((a, b), out) in pieces.zip(out.chunks_mut(PIECE)) {
            if run_at_best_level(Pairs { a, b, out, sign }) {
                for (out, &a, &b) in zip_mut2(out, a, b) {
                    *out = sign.of(a % b, b);
                }
            }
        }
    })
}

/// The rests of a division by one number.
pub(super) fn rests_by(op: BinaryOp, x: &Operand, number: Scalar) -> Result<Storage> {
    match op {
        BinaryOp::Fmod => rests_by_number(OfDividend, x, number),
        _ => rests_by_number(OfDivisor, x, number),
    }
}

fn rests_by_number(sign: impl Signed, x: &Operand, number: Scalar) -> Result<Storage> {
    let b = f32::from_scalar(number);
    f32::each([x], 1, &|[x], out| {
        for (x, out) in x.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
            if run_at_best_level(ByNumber { x, b, out, sign }) {
                for (out, &a) in zip_mut(out, x) {
                    *out = sign.of(a % b, b);
                }
            }
        }
    })
}

/// The rests of pairs with small quotients; returns whether there were others.
struct Pairs<'a, S> {
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
    sign: S,
}

impl<S: Signed> Loop for Pairs<'_, S> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let mut wrong = 0_u32;
        for (out, &a, &b) in zip_mut2(self.out, self.a, self.b) {
            let (rest, is_right) = quick(a, b, a.abs() / b.abs());
            wrong |= u32::from(!is_right);
            *out = self.sign.of(rest, b);
        }
        wrong > 0
    }
}

/// The same for one divisor, by whose reciprocal is multiplied.
struct ByNumber<'a, S> {
    x: &'a [f32],
    b: f32,
    out: &'a mut [f32],
    sign: S,
}

impl<S: Signed> Loop for ByNumber<'_, S> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (b, sign) = (self.b, self.sign);
        let reciprocal = b.abs().recip();
        let mut wrong = 0_u32;
        for (out, &a) in zip_mut(self.out, self.x) {
            let (rest, is_right) = quick(a, b, a.abs() * reciprocal);
            wrong |= u32::from(!is_right);
            *out = sign.of(rest, b);
        }
        wrong > 0
    }
}

#[cfg(test)]
mod tests {
    use super::single;
    use crate::{Tensor, set_num_threads};

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

    fn assert_same(got: f32, want: f32, a: f32, b: f32) {
        let same = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(same, "the rest of {a:e} by {b:e} is {want:e}, not {got:e}");
    }

    #[test]
    fn the_rest_is_the_librarys() {
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
    fn tensors_have_the_rests_of_their_elements() {
        let numbers = numbers();
        let x = Tensor::from_vec(numbers.clone(), [numbers.len()]).unwrap();
        let values = |x: Tensor| x.to_vec::<f32>().unwrap();
        for threads in [1, 3] {
            set_num_threads(threads);
            for b in DIVISORS {
                let rests = values(x.remainder(b).unwrap())
                    .into_iter()
                    .zip(values(x.fmod(b).unwrap()));
                for ((got, other), &a) in rests.zip(&numbers) {
                    assert_same(got, remainder(a, b), a, b);
                    assert_same(other, a % b, a, b);
                }
            }
            // Each number by others, among which there are few that are not divided by in the quick way.
            for shift in [1, 2, 1000, 1024] {
                let mut others = numbers.clone();
                others.rotate_left(shift);
                let y = Tensor::from_vec(others.clone(), [others.len()]).unwrap();
                let rests = values(x.remainder(&y).unwrap())
                    .into_iter()
                    .zip(values(x.fmod(&y).unwrap()));
                for ((got, other), (&a, &b)) in rests.zip(numbers.iter().zip(&others)) {
                    assert_same(got, remainder(a, b), a, b);
                    assert_same(other, a % b, a, b);
                }
            }
        }
    }
}
