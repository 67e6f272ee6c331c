//! `Q4_K`: `d` and `m`, then eight 6-bit scales and eight 6-bit minima in twelve bytes, then 256 4-bit numbers: each 32
//! bytes hold two groups of 32, the first in the lower halves.

// A loop is vectorized only if the functions that it calls are inlined.
#![allow(clippy::inline_always)]

use super::numbers::{Unpack, half_at, nearest, put_half};

pub(super) const BYTES: usize = 144;
pub(super) const NUMEL: usize = 256;
const GROUP: usize = 32;
const GROUPS: usize = 8;
const CODES: usize = 16;

pub(super) struct Block;

impl Unpack<BYTES, NUMEL> for Block {
    #[inline(always)]
    fn unpack(block: &[u8; BYTES], values: &mut [f32; NUMEL]) {
        let (d, m) = (half_at(block, 0), half_at(block, 2));
        let pairs = values.as_chunks_mut::<{ 2 * GROUP }>().0;
        let codes = block[CODES..].as_chunks::<GROUP>().0;
        for (pair, (values, bytes)) in pairs.iter_mut().zip(codes).enumerate() {
            let (s0, t0) = scale_and_minimum(block, 2 * pair);
            let (s1, t1) = scale_and_minimum(block, 2 * pair + 1);
            let (s0, t0) = (d * f32::from(s0), m * f32::from(t0));
            let (s1, t1) = (d * f32::from(s1), m * f32::from(t1));
            for i in 0..GROUP {
                values[i] = s0 * f32::from(bytes[i] & 15) - t0;
                values[GROUP + i] = s1 * f32::from(bytes[i] >> 4) - t1;
            }
        }
    }
}

/// The scale and the minimum of a group: those of the first four take six bits of a byte each; of the last four, the lower
/// bits are in the last four bytes, and the upper ones above those of the first four.
#[inline(always)]
fn scale_and_minimum(block: &[u8], group: usize) -> (u8, u8) {
    let at = |place: usize| block[4 + place];
    match group < 4 {
        true => (at(group) & 63, at(group + 4) & 63),
        false => (
            at(group + 4) & 15 | at(group - 4) >> 6 << 4,
            at(group + 4) >> 4 | at(group) >> 6 << 4,
        ),
    }
}

pub(super) fn pack(values: &[f32], block: &mut [u8]) -> bool {
    let mut codes = [0_u8; GROUP * GROUPS];
    let mut fits = [Fit::default(); GROUPS];
    for ((x, codes), fit) in values
        .chunks_exact(GROUP)
        .zip(codes.chunks_exact_mut(GROUP))
        .zip(&mut fits)
    {
        *fit = Fit::of(x, codes);
    }
    if !fits
        .iter()
        .all(|fit| fit.scale.is_finite() && fit.minimum.is_finite())
    {
        return false;
    }
    // Unsigned zero is the smallest.
    let larger = |most: f32, x: f32| if x > most { x } else { most };
    let largest = |of: fn(&Fit) -> f32| fits.iter().map(of).fold(0.0, larger);
    let (scale, minimum) = (largest(|fit| fit.scale), largest(|fit| fit.minimum));
    let inverse_of = |largest: f32| match largest > 0.0 {
        true => 63.0 / largest,
        false => 0.0,
    };
    let (to_scale, to_minimum) = (inverse_of(scale), inverse_of(minimum));
    let held =
        put_half(scale / 63.0, &mut block[..2]) && put_half(minimum / 63.0, &mut block[2..4]);
    for (group, fit) in fits.iter().enumerate() {
        let six_bits = |x: f32| nearest(x, 0, 63) as u8;
        let (s, t) = (
            six_bits(to_scale * fit.scale),
            six_bits(to_minimum * fit.minimum),
        );
        let packed = &mut block[4..CODES];
        match group < 4 {
            true => (packed[group], packed[group + 4]) = (s, t),
            false => {
                packed[group + 4] = s & 15 | t << 4;
                packed[group - 4] |= s >> 4 << 6;
                packed[group] |= t >> 4 << 6;
            }
        }
    }
    // The codes again, with the scales as stored in the block.
    let (d, m) = (half_at(block, 0), half_at(block, 2));
    for (group, (x, codes)) in values
        .chunks_exact(GROUP)
        .zip(codes.chunks_exact_mut(GROUP))
        .enumerate()
    {
        let (s, t) = scale_and_minimum(block, group);
        let (scale, minimum) = (d * f32::from(s), m * f32::from(t));
        if scale != 0.0 {
            for (code, x) in codes.iter_mut().zip(x) {
                *code = nearest((x + minimum) / scale, 0, 15) as u8;
            }
        }
    }
    for (bytes, codes) in block[CODES..]
        .chunks_exact_mut(GROUP)
        .zip(codes.chunks_exact(2 * GROUP))
    {
        let (low, high) = codes.split_at(GROUP);
        for ((byte, low), high) in bytes.iter_mut().zip(low).zip(high) {
            *byte = low | high << 4;
        }
    }
    held
}

/// `scale·q - minimum` for a group.
#[derive(Clone, Copy, Default)]
struct Fit {
    scale: f32,
    minimum: f32,
}

impl Fit {
    /// The best of 22 attempts by weighted squared error: for several code spacings around that of the range, the
    /// least-squares scale and minimum for these codes. Each attempt starts from the best minimum so far. Values are
    /// weighted by their magnitude plus the mean magnitude.
    fn of(x: &[f32], codes: &mut [u8]) -> Self {
        let squares = x.iter().fold(0.0_f32, |sum, x| sum + x * x);
        let mean = (squares / x.len() as f32).sqrt();
        let weight = |x: f32| mean + x.abs();
        let (mut least, mut greatest) = (x[0], x[0]);
        let (mut sum_w, mut sum_x) = (weight(x[0]), weight(x[0]) * x[0]);
        for &x in &x[1..] {
            (least, greatest) = (
                if x < least { x } else { least },
                if x > greatest { x } else { greatest },
            );
            sum_w += weight(x);
            sum_x += weight(x) * x;
        }
        let least = if least > 0.0 { 0.0 } else { least };
        let range = greatest - least;
        if range == 0.0 {
            codes.fill(0);
            return Self {
                scale: 0.0,
                minimum: -least,
            };
        }
        let errors = |codes: &[u8], scale: f32, offset: f32| {
            x.iter().zip(codes).fold(0.0_f32, |sum, (&x, &code)| {
                let difference = scale * f32::from(code) + offset - x;
                sum + weight(x) * (difference * difference)
            })
        };
        let code = |x: f32, spacing: f32| nearest(spacing * x, 0, 15) as u8;
        let spacing = 15.0 / range;
        let (mut scale, mut offset) = (1.0 / spacing, least);
        for (to, &x) in codes.iter_mut().zip(x) {
            *to = code(x - least, spacing);
        }
        let mut best = errors(codes, scale, offset);
        let mut tried = [0_u8; GROUP];
        for step in 0..=20 {
            let spacing = (-1.0 + 0.1 * step as f32 + 15.0) / (greatest - offset);
            let (mut sum_l, mut sum_l2, mut sum_xl) = (0.0_f32, 0.0_f32, 0.0_f32);
            for (to, &x) in tried.iter_mut().zip(x) {
                *to = code(x - offset, spacing);
                let (w, l) = (weight(x), f32::from(*to));
                sum_l += w * l;
                sum_l2 += w * l * l;
                sum_xl += w * l * x;
            }
            let determinant = sum_w * sum_l2 - sum_l * sum_l;
            if determinant <= 0.0 {
                continue;
            }
            let mut fitted = (sum_w * sum_xl - sum_x * sum_l) / determinant;
            let mut to = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
            if to > 0.0 {
                to = 0.0;
                fitted = sum_xl / sum_l2;
            }
            let error = errors(&tried, fitted, to);
            if error < best {
                codes.copy_from_slice(&tried);
                (best, scale, offset) = (error, fitted, to);
            }
        }
        Self {
            scale,
            minimum: -offset,
        }
    }
}
