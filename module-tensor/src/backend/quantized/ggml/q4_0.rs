//! `Q4_0`: `d`, then 32 4-bit numbers, the first 16 in the lower halves of the bytes.

// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use super::numbers::{half_at, inverse, put_half};

pub(super) const BYTES: usize = 18;

#[inline(always)]
pub(super) fn unpack(block: &[u8], values: &mut [f32]) {
    let d = half_at(block, 0);
    let (low, high) = values.split_at_mut(16);
    for ((low, high), &q) in low.iter_mut().zip(high).zip(&block[2..]) {
        *low = f32::from((q & 15) as i8 - 8) * d;
        *high = f32::from((q >> 4) as i8 - 8) * d;
    }
}

/// The value of the largest magnitude becomes -8 exactly.
pub(super) fn pack(values: &[f32], block: &mut [u8]) -> bool {
    let mut extreme = 0.0_f32;
    for &x in values {
        if x.abs() > extreme.abs() {
            extreme = x;
        }
    }
    let d = extreme / -8.0;
    let scale = inverse(d);
    let code = |x: f32| ((x * scale + 8.5) as u8).min(15);
    let (head, codes) = block.split_at_mut(2);
    let (low, high) = values.split_at(16);
    for ((byte, &low), &high) in codes.iter_mut().zip(low).zip(high) {
        *byte = code(low) | code(high) << 4;
    }
    put_half(d, head)
}
