//! `Q8_0`: `d`, then 32 8-bit numbers.

// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use super::numbers::{half_at, inverse, put_half};

pub(super) const BYTES: usize = 34;

#[inline(always)]
pub(super) fn unpack(block: &[u8], values: &mut [f32]) {
    let d = half_at(block, 0);
    for (value, &q) in values.iter_mut().zip(&block[2..]) {
        *value = f32::from(q as i8) * d;
    }
}

pub(super) fn pack(values: &[f32], block: &mut [u8]) -> bool {
    let largest = values.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    let d = largest / 127.0;
    let scale = inverse(d);
    let (head, codes) = block.split_at_mut(2);
    for (code, x) in codes.iter_mut().zip(values) {
        *code = (x * scale).round() as i8 as u8;
    }
    put_half(d, head)
}
