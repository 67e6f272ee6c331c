//! `Q6_K`: 256 6-bit numbers, of which 128 bytes hold the lower four bits and 64 bytes the upper two, then 16 8-bit scales,
//! then `d`. Each half of the elements is stored separately: 64 bytes hold the first and third quarter, and the second and
//! fourth; 32 bytes hold the upper bits of all four.

// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use super::numbers::{Unpack, half_at, nearest, put_half};

pub(super) const BYTES: usize = 210;
pub(super) const NUMEL: usize = 256;
const GROUP: usize = 16;
const UPPER: usize = 128;
const SCALES: usize = 192;
const D: usize = 208;

/// A group whose magnitudes are all below this counts as zeros.
const EPSILON: f32 = 1e-15;

pub(super) struct Block;

impl Unpack<BYTES, NUMEL> for Block {
    #[inline(always)]
    fn unpack(block: &[u8; BYTES], values: &mut [f32; NUMEL]) {
        let d = half_at(block, D);
        let scale = |group: usize| d * f32::from(block[SCALES + group] as i8);
        // Groups of elements, of lower and of upper bits.
        let values = values.as_chunks_mut::<GROUP>().0;
        let (lower, upper) = block.split_at(UPPER);
        let (lower, upper) = (lower.as_chunks::<GROUP>().0, upper.as_chunks::<GROUP>().0);
        for (group, values) in values.iter_mut().enumerate() {
            let (half, quarter, side) = (group / 8, group / 2 % 4, group % 2);
            let lower = lower[4 * half + 2 * (quarter % 2) + side];
            let upper = upper[2 * half + side];
            let (down, along, scale) = (quarter / 2 * 4, quarter * 2, scale(group));
            let mut numbers = [0.0; GROUP];
            for i in 0..GROUP {
                // Of 32 bits, because registers have no shifts of 8.
                let (lower, upper) = (u32::from(lower[i]) >> down, u32::from(upper[i]) >> along);
                let q = lower & 15 | (upper & 3) << 4;
                numbers[i] = scale * (q as i32 - 32) as f32;
            }
            *values = numbers;
        }
    }
}

pub(super) fn pack(values: &[f32], block: &mut [u8]) -> bool {
    let mut codes = [0_u8; 256];
    let mut scales = [0.0_f32; 16];
    for ((x, codes), scale) in values
        .chunks_exact(GROUP)
        .zip(codes.chunks_exact_mut(GROUP))
        .zip(&mut scales)
    {
        *scale = fit(x, codes);
    }
    if !scales.iter().all(|scale| scale.is_finite()) {
        return false;
    }
    let mut largest = 0.0_f32;
    for scale in scales {
        if scale.abs() > largest.abs() {
            largest = scale;
        }
    }
    block.fill(0);
    if largest.abs() < EPSILON {
        return true;
    }
    let to_scale = -128.0 / largest;
    let held = put_half(1.0 / to_scale, &mut block[D..]);
    let d = half_at(block, D);
    let groups = values
        .chunks_exact(GROUP)
        .zip(codes.chunks_exact_mut(GROUP));
    for ((x, codes), (byte, scale)) in groups.zip(block[SCALES..D].iter_mut().zip(scales)) {
        let whole = nearest(to_scale * scale, i32::MIN, 127) as i8;
        *byte = whole as u8;
        let scale = d * f32::from(whole);
        if scale != 0.0 {
            for (code, x) in codes.iter_mut().zip(x) {
                *code = (nearest(x / scale, -32, 31) + 32) as u8;
            }
        }
    }
    for (half, codes) in codes.chunks_exact(128).enumerate() {
        for i in 0..32 {
            let q = [codes[i], codes[i + 32], codes[i + 64], codes[i + 96]];
            block[64 * half + i] = q[0] & 15 | q[2] << 4;
            block[64 * half + 32 + i] = q[1] & 15 | q[3] << 4;
            let upper = q.iter().rev().fold(0, |bits, q| bits << 2 | q >> 4);
            block[UPPER + 32 * half + i] = upper;
        }
    }
    held
}

/// The scale of a group, and its codes: out of 19 spacings around that of the extreme value, the one with the smallest
/// squared error, with values weighted by their squares.
fn fit(x: &[f32], codes: &mut [u8]) -> f32 {
    let mut extreme = 0.0_f32;
    for &x in x {
        if x.abs() > extreme.abs() {
            extreme = x;
        }
    }
    if extreme.abs() < EPSILON {
        codes.fill(0);
        return 0.0;
    }
    let code = |x: f32, spacing: f32| nearest(spacing * x, -32, 31);
    let sums = |spacing: f32| {
        let (mut sum_lx, mut sum_l2) = (0.0_f32, 0.0_f32);
        for &x in x {
            let l = code(x, spacing) as f32;
            sum_lx += x * x * x * l;
            sum_l2 += x * x * l * l;
        }
        (sum_lx, sum_l2)
    };
    let mut spacing = -32.0 / extreme;
    let (sum_lx, sum_l2) = sums(spacing);
    let mut scale = if sum_l2 == 0.0 { 0.0 } else { sum_lx / sum_l2 };
    let mut best = scale * sum_lx;
    for step in (-9..=9).filter(|step| *step != 0) {
        let tried = -(32.0 + 0.1 * step as f32) / extreme;
        let (sum_lx, sum_l2) = sums(tried);
        if sum_l2 > 0.0 && sum_lx * sum_lx > best * sum_l2 {
            (spacing, scale) = (tried, sum_lx / sum_l2);
            best = scale * sum_lx;
        }
    }
    for (to, &x) in codes.iter_mut().zip(x) {
        *to = (code(x, spacing) + 32) as u8;
    }
    scale
}
