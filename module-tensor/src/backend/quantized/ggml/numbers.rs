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
    // `to_f32` asks the processor for its instructions at every call.
    f16::from_le_bytes([bytes[0], bytes[1]]).to_f32_const()
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
