//! `Q8_0`: `d`, then 32 8-bit numbers.

// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use super::numbers::{Unpack, half_at, inverse, put_half};

pub(super) const BYTES: usize = 34;
pub(super) const NUMEL: usize = 32;

pub(super) struct Block;

impl Unpack<BYTES, NUMEL> for Block {
    #[inline(always)]
    fn unpack(block: &[u8; BYTES], values: &mut [f32; NUMEL]) {
        let d = half_at(block, 0);
        let Some(codes) = block.last_chunk::<NUMEL>() else {
            return;
        };
        for i in 0..NUMEL {
            values[i] = f32::from(codes[i] as i8) * d;
        }
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
