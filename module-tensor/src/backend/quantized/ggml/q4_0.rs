//! `Q4_0`: `d`, then 32 4-bit numbers, the first 16 in the lower halves of the bytes.

// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use super::numbers::{Unpack, half_at, inverse, put_half};

pub(super) const BYTES: usize = 18;
pub(super) const NUMEL: usize = 32;
const HALF: usize = NUMEL / 2;

pub(super) struct Block;

impl Unpack<BYTES, NUMEL> for Block {
    #[inline(always)]
    fn unpack(block: &[u8; BYTES], values: &mut [f32; NUMEL]) {
        let d = half_at(block, 0);
        let Some(codes) = block.last_chunk::<HALF>() else {
            return;
        };
        let numbers = halves(codes);
        for i in 0..NUMEL {
            values[i] = f32::from(numbers[i] as i8 - 8) * d;
        }
    }
}

/// The lower and the upper halves of bytes.
///
/// It is not part of the loop over blocks, which is made one of vectors else that collect a byte of each of many blocks.
#[inline(never)]
fn halves(codes: &[u8; HALF]) -> [u8; NUMEL] {
    let mut halves = [0; NUMEL];
    for i in 0..HALF {
        halves[i] = codes[i] & 15;
        halves[HALF + i] = codes[i] >> 4;
    }
    halves
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
