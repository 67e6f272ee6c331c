//! Sums, differences and products of pairs of numbers of half precision. They are single while they are in registers, and are not
//! written as such: that takes longer than the operation, even in the first-level cache.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use half::{bf16, f16};

use super::half_precision::{Half, narrow_to_f16, rounded_to_bf16, widen};
use super::memory::scratch;
use super::simd::{F16Slices, HalfOp, Level, Loop, convert_f16, run_at_best_level};
use super::threads::fill_in_parts;
use super::view::slice;
use super::{BinaryOp, CpuStorage, Element, Operand, Storage};
use crate::zip::{zip_mut, zip_mut2};
use crate::{DType, Result};

/// The result for operands of half precision in row-major order, if it is one of these operations.
pub(super) fn half_pairs(op: BinaryOp, a: &Operand, b: &Operand) -> Result<Option<Storage>> {
    let op = match op {
        BinaryOp::Add => HalfOp::Add,
        BinaryOp::Sub => HalfOp::Sub,
        BinaryOp::Mul => HalfOp::Mul,
        _ => return Ok(None),
    };
    match a.storage.dtype() {
        DType::F16 => of_slices::<f16>(op, a, b),
        DType::BF16 => of_slices::<bf16>(op, a, b),
        _ => Ok(None),
    }
}

fn of_slices<H: Pairs>(op: HalfOp, a: &Operand, b: &Operand) -> Result<Option<Storage>> {
    let (Some(a), Some(b)) = (slice::<H>(a)?, slice::<H>(b)?) else {
        return Ok(None);
    };
    let mut values = scratch::<H>(a.len())?;
    fill_in_parts(&mut values, 1, &|start, out| {
        let part = start..start + out.len();
        H::pairs(op, [&a[part.clone()], &b[part]], out);
    })?;
    Ok(Some(CpuStorage::wrap(values)))
}

trait Pairs: Element {
    /// Writes the result of each pair.
    fn pairs(op: HalfOp, pair: [&[Self]; 2], out: &mut [Self]);
}

impl Pairs for f16 {
    fn pairs(op: HalfOp, [a, b]: [&[Self]; 2], out: &mut [Self]) {
        let done = convert_f16(Level::highest(), F16Slices::Pairs(op, [a, b], &mut *out));
        // The rest, or all of them where no instruction widens.
        const PIECE: usize = 256;
        let (mut x, mut y) = ([0.0; PIECE], [0.0; PIECE]);
        for start in (done..out.len()).step_by(PIECE) {
            let part = start..out.len().min(start + PIECE);
            let (x, y) = (&mut x[..part.len()], &mut y[..part.len()]);
            widen(&a[part.clone()], x);
            widen(&b[part.clone()], y);
            for (x, &y) in zip_mut(x, y) {
                *x = match op {
                    HalfOp::Add => *x + y,
                    HalfOp::Sub => *x - y,
                    HalfOp::Mul => *x * y,
                };
            }
            narrow_to_f16(x, &mut out[part]);
        }
    }
}

impl Pairs for bf16 {
    fn pairs(op: HalfOp, pair: [&[Self]; 2], out: &mut [Self]) {
        match op {
            HalfOp::Add => run_at_best_level(Each(pair, out, |a, b| a + b)),
            HalfOp::Sub => run_at_best_level(Each(pair, out, |a, b| a - b)),
            HalfOp::Mul => run_at_best_level(Each(pair, out, |a, b| a * b)),
        }
    }
}

struct Each<'a, F>([&'a [bf16]; 2], &'a mut [bf16], F);

impl<F: Fn(f32, f32) -> f32> Loop for Each<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self([a, b], out, f) = self;
        for (out, &a, &b) in zip_mut2(out, a, b) {
            *out = rounded_to_bf16(f(a.single(), b.single()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HalfOp, Pairs, bf16, f16};

    /// Compares the results of all bit patterns, each paired with others, with those of the crate.
    fn check<H: Pairs>(
        of_bits: fn(u16) -> H,
        bits: fn(H) -> u16,
        wide: fn(H) -> f32,
        round: fn(f32) -> H,
    ) {
        for step in [1, 31, 40_503] {
            let a: Vec<H> = (0..=u16::MAX).map(of_bits).collect();
            let b: Vec<H> = (0..=u16::MAX)
                .map(|i| of_bits(i.wrapping_mul(step)))
                .collect();
            for len in [0, 1, 7, 8, 15, 16, 17, 33, 300, a.len()] {
                let (a, b) = (&a[a.len() - len..], &b[b.len() - len..]);
                for (op, f) in [
                    (HalfOp::Add, (|x, y| x + y) as fn(f32, f32) -> f32),
                    (HalfOp::Sub, |x, y| x - y),
                    (HalfOp::Mul, |x, y| x * y),
                ] {
                    let mut out = vec![of_bits(0x1234); len];
                    H::pairs(op, [a, b], &mut out);
                    for ((&got, &a), &b) in out.iter().zip(a).zip(b) {
                        let exact = round(f(wide(a), wide(b)));
                        let same = bits(got) == bits(exact);
                        let are_nan = wide(got).is_nan() && wide(exact).is_nan();
                        assert!(same || are_nan, "{op:?} of {:x} and {:x}", bits(a), bits(b));
                    }
                }
            }
        }
    }

    #[test]
    fn results_are_those_of_single_numbers_rounded() {
        check(f16::from_bits, f16::to_bits, f16::to_f32, f16::from_f32);
        check(bf16::from_bits, bf16::to_bits, bf16::to_f32, bf16::from_f32);
    }
}
