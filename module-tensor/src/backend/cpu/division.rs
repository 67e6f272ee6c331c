//! Divisions of tensors with a remainder.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::fmod::quick;
use super::narrow::Widened;
use super::number::{FromScalar, Number};
use super::simd::{Loop, run_at_best_level};
use super::{BinaryOp, Operand, Storage};
use crate::zip::{zip_mut, zip_mut2};
use crate::{Result, Scalar};

/// A function of a division and of its remainder, which has the sign of the dividend.
trait Finish: Copy + Sync {
    fn of(self, a: f32, b: f32, remainder: f32) -> f32;

    /// The same from the library's remainder.
    fn exactly(self, a: f32, b: f32) -> f32;
}

#[derive(Clone, Copy)]
struct Fmod;

impl Finish for Fmod {
    #[inline(always)]
    fn of(self, _: f32, _: f32, remainder: f32) -> f32 {
        remainder
    }

    fn exactly(self, a: f32, b: f32) -> f32 {
        a % b
    }
}

#[derive(Clone, Copy)]
struct Remainder;

impl Finish for Remainder {
    #[inline(always)]
    fn of(self, _: f32, b: f32, remainder: f32) -> f32 {
        remainder.with_sign_of(b)
    }

    fn exactly(self, a: f32, b: f32) -> f32 {
        (a % b).with_sign_of(b)
    }
}

#[derive(Clone, Copy)]
struct FloorDivide;

impl Finish for FloorDivide {
    #[inline(always)]
    fn of(self, a: f32, b: f32, remainder: f32) -> f32 {
        a.floor_quotient(b, remainder)
    }

    fn exactly(self, a: f32, b: f32) -> f32 {
        a.floor_divided(b)
    }
}

/// How many numbers are computed before it is known whether the steps for small quotients were right for all.
const PIECE: usize = 1024;

/// The remainder with the sign of the divisor, `fmod` or floor division of pairs.
pub(super) fn divide(op: BinaryOp, a: &mut Operand, b: &mut Operand) -> Result<Storage> {
    match op {
        BinaryOp::Fmod => divide_pairs(Fmod, a, b),
        BinaryOp::FloorDivide => divide_pairs(FloorDivide, a, b),
        _ => divide_pairs(Remainder, a, b),
    }
}

fn divide_pairs(finish: impl Finish, a: &mut Operand, b: &mut Operand) -> Result<Storage> {
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
pub(super) fn divide_by(op: BinaryOp, x: &mut Operand, number: Scalar) -> Result<Storage> {
    match op {
        BinaryOp::Fmod => divide_by_number(Fmod, x, number),
        BinaryOp::FloorDivide => divide_by_number(FloorDivide, x, number),
        _ => divide_by_number(Remainder, x, number),
    }
}

fn divide_by_number(finish: impl Finish, x: &mut Operand, number: Scalar) -> Result<Storage> {
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
            let (remainder, is_right) = quick(a, b, a.abs() / b.abs());
            wrong |= u32::from(!is_right);
            out[i] = self.finish.of(a, b, remainder);
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
            let (remainder, is_right) = quick(a, b, a.abs() * reciprocal);
            wrong |= u32::from(!is_right);
            *out = finish.of(a, b, remainder);
        }
        wrong > 0
    }
}

#[cfg(test)]
mod tests;
