//! Half-precision numbers as `f32`, by steps that vectors have.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use half::{bf16, f16};

use crate::simd::{Level, Loop, run_at_best_level, widen_f16};
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
        widen_f16(Level::highest(), from, to)
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

#[cfg(test)]
mod tests {
    use super::{Half, bf16, f16, widen};

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
