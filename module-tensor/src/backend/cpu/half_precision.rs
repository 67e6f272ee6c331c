//! Half-precision numbers from and to `f32`, by steps that vectors have.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use crate::simd::{F16Slices, Level, Loop, convert_f16, run_at_best_level};
use crate::zip::zip_mut;

/// A type of half precision.
pub(super) trait Half: Copy {
    /// The same number; a NaN becomes a quiet one.
    fn single(self) -> f32;

    /// Converts the first numbers by an instruction for it, and returns how many.
    fn widen_some(_from: &[Self], _to: &mut [f32]) -> usize {
        0
    }
}

impl Half for bf16 {
    #[inline(always)]
    fn single(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }
}

impl Half for f16 {
    #[inline(always)]
    fn single(self) -> f32 {
        // Exponents count from -15 and not from -127, which the factor makes up for, also in subnormal numbers.
        let magnitude = u32::from(self.to_bits() & 0x7fff) << 13;
        let scaled = f32::from_bits(magnitude) * f32::from_bits(0x7780_0000);
        let is_finite = magnitude < 0x7c00 << 13;
        let is_nan = magnitude > 0x7c00 << 13;
        let bits = scaled.to_bits() | if is_finite { 0 } else { 0x7f80_0000 };
        let bits = bits | if is_nan { 0x0040_0000 } else { 0 };
        f32::from_bits(bits | u32::from(self.to_bits() & 0x8000) << 16)
    }

    fn widen_some(from: &[Self], to: &mut [f32]) -> usize {
        convert_f16(Level::highest(), F16Slices::Widen(from, to))
    }
}

/// Converts each number.
pub(super) fn widen<H: Half>(from: &[H], to: &mut [f32]) {
    let done = H::widen_some(from, to);
    run_at_best_level(Widen(&from[done..], &mut to[done..]));
}

struct Widen<'a, H>(&'a [H], &'a mut [f32]);

impl<H: Half> Loop for Widen<'_, H> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (to, &from) in zip_mut(self.1, self.0) {
            *to = from.single();
        }
    }
}

/// Rounds each number to nearest even; a NaN becomes a quiet one that keeps the bits that fit.
pub(super) fn narrow_to_f16(from: &[f32], to: &mut [f16]) {
    let len = from.len().min(to.len());
    let (from, to) = (&from[..len], &mut to[..len]);
    let done = convert_f16(Level::highest(), F16Slices::Narrow(from, &mut *to));
    // By slices, because asking whether the processor converts costs more than it does.
    to[done..].convert_from_f32_slice(&from[done..]);
}

/// [`narrow_to_f16`] for the other type.
pub(super) fn narrow_to_bf16(from: &[f32], to: &mut [bf16]) {
    run_at_best_level(Narrow(from, to));
}

struct Narrow<'a>(&'a [f32], &'a mut [bf16]);

impl Loop for Narrow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (to, &from) in zip_mut(self.1, self.0) {
            *to = rounded_to_bf16(from);
        }
    }
}

#[inline(always)]
pub(super) fn rounded_to_bf16(from: f32) -> bf16 {
    let bits = from.to_bits();
    // Ties go up to an even number only.
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1));
    let bits = if from.is_nan() {
        bits | 0x0040_0000
    } else {
        rounded
    };
    bf16::from_bits((bits >> 16) as u16)
}

#[cfg(test)]
mod tests {
    use super::{Half, bf16, f16, narrow_to_bf16, narrow_to_f16, widen};

    /// Numbers around every one that either type has, halfway to its neighbors, and NaN with all payloads that matter.
    fn numbers() -> Vec<f32> {
        let ends = [
            0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x7fff, 0x8000, 0x8001, 0xffff,
        ];
        let all = (0..=u16::MAX).flat_map(|high| ends.map(|low| u32::from(high) << 16 | low));
        // `f16` has 13 bits less, `bf16` 16.
        all.flat_map(|bits| [bits, bits ^ 0x2000])
            .map(f32::from_bits)
            .collect()
    }

    #[test]
    fn every_number_is_rounded_as_by_the_crate() {
        let numbers = numbers();
        let (mut halves, mut brains) = (
            vec![f16::ZERO; numbers.len()],
            vec![bf16::ZERO; numbers.len()],
        );
        narrow_to_f16(&numbers, &mut halves);
        narrow_to_bf16(&numbers, &mut brains);
        for ((&v, half), brain) in numbers.iter().zip(halves).zip(brains) {
            let want = (f16::from_f32(v).to_bits(), bf16::from_f32(v).to_bits());
            assert_eq!((half.to_bits(), brain.to_bits()), want, "{:x}", v.to_bits());
        }
        // By the instruction, and the last ones without.
        for len in [0, 1, 15, 16, 17, 47] {
            let from = &numbers[numbers.len() / 2..][..len];
            let mut to = vec![f16::ONE; len];
            narrow_to_f16(from, &mut to);
            assert!(
                to.iter()
                    .zip(from)
                    .all(|(to, &v)| to.to_bits() == f16::from_f32(v).to_bits())
            );
        }
    }

    #[test]
    fn every_number_is_the_same() {
        let same =
            |got: f32, want: f32| got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        for bits in 0..=u16::MAX {
            let (a, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert!(same(a.single(), a.to_f32()), "{bits:x}");
            assert!(same(b.single(), b.to_f32()), "{bits:x}");
        }
        // By the instruction, and the last ones without; the bits of a NaN are the same, too.
        for count in [1000, 1 << 16] {
            let numbers: Vec<f16> = (0..count).map(|bits| f16::from_bits(bits as u16)).collect();
            let mut wide = vec![0.0; numbers.len()];
            widen(&numbers, &mut wide);
            let bits = wide.iter().map(|v| v.to_bits());
            assert!(bits.eq(numbers.iter().map(|v| v.single().to_bits())));
        }
    }
}
