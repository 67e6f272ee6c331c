//! Code that the layouts share.

// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use half::f16;

/// A block of so many bytes and elements.
///
/// A trait and no closure: its function is inlined into the loop.
pub(super) trait Unpack<const BYTES: usize, const NUMEL: usize> {
    fn unpack(block: &[u8; BYTES], values: &mut [f32; NUMEL]);
}

/// The half-precision number at a position in a block.
#[inline(always)]
pub(super) fn half_at(block: &[u8], place: usize) -> f32 {
    let bytes = block.get(place..place + 2).unwrap_or(&[0, 0]);
    single(u16::from_le_bytes([bytes[0], bytes[1]]))
}

/// The number that the bits of half precision are. `f16::to_f32` asks the processor for its instructions at every call.
#[inline(always)]
fn single(bits: u16) -> f32 {
    let (sign, rest) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    // As the exponent of `f32`, that of half precision is too small by 112; numbers without one are right too.
    let number = f32::from_bits(rest << 13) * f32::from_bits((112 + 127) << 23);
    let not_finite = if rest >= 0x7c00 {
        0x7f80_0000 | rest << 13
    } else {
        0
    };
    f32::from_bits(number.to_bits() | not_finite | sign)
}

/// Writes a number in half precision, and returns whether that can hold it.
pub(super) fn put_half(value: f32, bytes: &mut [u8]) -> bool {
    let value = f16::from_f32(value);
    bytes.copy_from_slice(&value.to_le_bytes());
    value.is_finite()
}

/// `1 / x`, and 0 for 0.
pub(super) fn inverse(x: f32) -> f32 {
    match x == 0.0 {
        true => 0.0,
        false => 1.0 / x,
    }
}

/// The nearest integer in a range.
pub(super) fn nearest(x: f32, least: i32, greatest: i32) -> i32 {
    (x.round_ties_even() as i32).clamp(least, greatest)
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::single;

    #[test]
    fn every_number_of_half_precision_is_read() {
        for bits in 0..=u16::MAX {
            let (got, want) = (single(bits), f16::from_bits(bits).to_f32());
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{bits:x}: {got} {want}"
            );
        }
    }
}
