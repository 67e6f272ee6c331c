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

/// What is made of a division and of its rest with the sign of the dividend.
trait Finish: Copy + Sync {
    fn of(self, a: f32, b: f32, rest: f32) -> f32;

    /// The same from the library's rest.
    fn exactly(self, a: f32, b: f32) -> f32;
}

#[derive(Clone, Copy)]
struct Fmod;

impl Finish for Fmod {
    #[inline(always)]
    fn of(self, _: f32, _: f32, rest: f32) -> f32 {
        rest
    }

    fn exactly(self, a: f32, b: f32) -> f32 {
        a % b
    }
}

#[derive(Clone, Copy)]
struct Remainder;

impl Finish for Remainder {
    #[inline(always)]
    fn of(self, _: f32, b: f32, rest: f32) -> f32 {
        rest.with_sign_of(b)
    }

    fn exactly(self, a: f32, b: f32) -> f32 {
        (a % b).with_sign_of(b)
    }
}

#[derive(Clone, Copy)]
struct FloorDivide;

impl Finish for FloorDivide {
    #[inline(always)]
    fn of(self, a: f32, b: f32, rest: f32) -> f32 {
        a.floor_quotient(b, rest)
    }

    fn exactly(self, a: f32, b: f32) -> f32 {
        a.floor_divided(b)
    }
}

/// How many numbers are computed before it is known whether the steps for small quotients were right for all.
const PIECE: usize = 1024;

/// The remainder with the sign of the divisor, `fmod` or floor division of pairs.
pub(super) fn divide(op: BinaryOp, a: &Operand, b: &Operand) -> Result<Storage> {
    match op {
        BinaryOp::Fmod => divide_pairs(Fmod, a, b),
        BinaryOp::FloorDivide => divide_pairs(FloorDivide, a, b),
        _ => divide_pairs(Remainder, a, b),
    }
}

fn divide_pairs(finish: impl Finish, a: &Operand, b: &Operand) -> Result<Storage> {
    f32::each([a, b], 1, &|[a, b], out| {
        let pieces = a.chunks(PIECE).zip(b.chunks(PIECE));
        for ((a, b), out) in pieces.zip(out.chunks_mut(PIECE)) {
            if run_at_best_level(Pairs { a, b, out, finish }) {
                for (out, &a, &b) in zip_mut2(out, a, b) {
                    *out = finish.exactly(a, b);
                }
            }
        }
    })
}

/// The same of a division by one number.
pub(super) fn divide_by(op: BinaryOp, x: &Operand, number: Scalar) -> Result<Storage> {
    match op {
        BinaryOp::Fmod => divide_by_number(Fmod, x, number),
        BinaryOp::FloorDivide => divide_by_number(FloorDivide, x, number),
        _ => divide_by_number(Remainder, x, number),
    }
}

fn divide_by_number(finish: impl Finish, x: &Operand, number: Scalar) -> Result<Storage> {
    let b = f32::from_scalar(number);
    f32::each([x], 1, &|[x], out| {
        for (x, out) in x.chunks(PIECE).zip(out.chunks_mut(PIECE)) {
            if run_at_best_level(ByNumber { x, b, out, finish }) {
                for (out, &a) in zip_mut(out, x) {
                    *out = finish.exactly(a, b);
                }
            }
        }
    })
}

/// The division of pairs with small quotients; returns whether there were others.
struct Pairs<'a, F> {
    a: &'a [f32],
    b: &'a [f32],
    out: &'a mut [f32],
    finish: F,
}

impl<F: Finish> Loop for Pairs<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let len = self.out.len().min(self.a.len()).min(self.b.len());
        let (a, b, out) = (&self.a[..len], &self.b[..len], &mut self.out[..len]);
        let mut wrong = 0_u32;
        // Iterators of three slices would keep the compiler from using vectors here.
        for i in 0..len {
            let (a, b) = (a[i], b[i]);
            let (rest, is_right) = quick(a, b, a.abs() / b.abs());
            wrong |= u32::from(!is_right);
            out[i] = self.finish.of(a, b, rest);
        }
        wrong > 0
    }
}

/// The same for one divisor, by whose reciprocal is multiplied.
struct ByNumber<'a, F> {
    x: &'a [f32],
    b: f32,
    out: &'a mut [f32],
    finish: F,
}

impl<F: Finish> Loop for ByNumber<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (b, finish) = (self.b, self.finish);
        let reciprocal = b.abs().recip();
        let mut wrong = 0_u32;
        for (out, &a) in zip_mut(self.out, self.x) {
            let (rest, is_right) = quick(a, b, a.abs() * reciprocal);
            wrong |= u32::from(!is_right);
            *out = finish.of(a, b, rest);
        }
        wrong > 0
    }
}

#[cfg(test)]
mod tests {
    use super::single;
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
}
