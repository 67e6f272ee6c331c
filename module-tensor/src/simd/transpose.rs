//! Transposes lines of numbers, square blocks of them in registers.

use super::{Instructions, Level};
use crate::zip::zip_mut;

/// Numbers that have a way of transposing.
pub(crate) trait Transpose: Copy {
    /// `out[p · stride + i] = lines[i][p]`; all lines are of one length, of which `out` has as many rows.
    fn transpose(level: Level, lines: &[&[Self]], out: &mut [Self], stride: usize);
}

/// The numbers of one size, and how a square of them is transposed.
macro_rules! transpose {
    ($type:ty, $side:literal, $avx2:ident, $block:ident) => {
        impl Transpose for $type {
            fn transpose(level: Level, lines: &[&[Self]], out: &mut [Self], stride: usize) {
                match level.0 {
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    #[cfg(target_arch = "x86_64")]
                    Instructions::Avx512 | Instructions::Avx2 => unsafe {
                        $avx2(lines, out, stride);
                    },
                    Instructions::Baseline => {
                        squares::<$type, $side>(lines, out, stride, one_by_one)
                    }
                }
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2")]
        fn $avx2(lines: &[&[$type]], out: &mut [$type], stride: usize) {
            squares::<$type, $side>(lines, out, stride, |square| $block(square));
        }
    };
}

transpose!(f32, 8, transpose_f32, square_f32);
transpose!(f64, 4, transpose_f64, square_f64);

#[inline(always)]
#[allow(clippy::inline_always)]
fn squares<T: Copy, const SIDE: usize>(
    lines: &[&[T]],
    out: &mut [T],
    stride: usize,
    square: impl Fn([[T; SIDE]; SIDE]) -> [[T; SIDE]; SIDE],
) {
    let (groups, rest) = lines.as_chunks::<SIDE>();
    for (i, lines) in groups.iter().enumerate() {
        let whole = |line: &[T], j: usize| line.as_chunks::<SIDE>().0[j];
        let (len, rest) = (lines[0].len(), lines[0].len() / SIDE * SIDE);
        for j in 0..len / SIDE {
            let mut block = [whole(lines[0], j); SIDE];
            for (to, line) in zip_mut(&mut block, lines) {
                *to = whole(line, j);
            }
            let rows = &mut out[j * SIDE * stride + i * SIDE..];
            for (p, column) in square(block).iter().enumerate() {
                rows[p * stride..][..SIDE].copy_from_slice(column);
            }
        }
        let rows = out.chunks_mut(stride).skip(rest);
        for (p, row) in (rest..len).zip(rows) {
            for (to, line) in zip_mut(&mut row[i * SIDE..][..SIDE], lines) {
                *to = line[p];
            }
        }
    }
    let done = groups.len() * SIDE;
    for (i, line) in rest.iter().enumerate() {
        for (row, &v) in out.chunks_mut(stride).zip(*line) {
            row[done + i] = v;
        }
    }
}

fn one_by_one<T: Copy, const SIDE: usize>(x: [[T; SIDE]; SIDE]) -> [[T; SIDE]; SIDE] {
    std::array::from_fn(|i| x.map(|line| line[i]))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn square_f32(x: [[f32; 8]; 8]) -> [[f32; 8]; 8] {
    use std::arch::x86_64::{
        __m256, _mm256_permute2f128_ps as halves, _mm256_shuffle_ps as pairs,
        _mm256_unpackhi_ps as high, _mm256_unpacklo_ps as low,
    };
    let [a, b, c, d, e, f, g, h]: [__m256; 8] = bytemuck::cast(x);
    // Two lines, then four, in each half of a register.
    let two = [low(a, b), high(a, b), low(c, d), high(c, d)];
    let four = |[ab0, ab1, cd0, cd1]: [__m256; 4]| {
        [
            pairs::<0x44>(ab0, cd0),
            pairs::<0xee>(ab0, cd0),
            pairs::<0x44>(ab1, cd1),
            pairs::<0xee>(ab1, cd1),
        ]
    };
    let [a, b, c, d] = four(two);
    let [e, f, g, h] = four([low(e, f), high(e, f), low(g, h), high(g, h)]);
    bytemuck::cast([
        halves::<0x20>(a, e),
        halves::<0x20>(b, f),
        halves::<0x20>(c, g),
        halves::<0x20>(d, h),
        halves::<0x31>(a, e),
        halves::<0x31>(b, f),
        halves::<0x31>(c, g),
        halves::<0x31>(d, h),
    ])
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn square_f64(x: [[f64; 4]; 4]) -> [[f64; 4]; 4] {
    use std::arch::x86_64::{
        __m256d, _mm256_permute2f128_pd as halves, _mm256_unpackhi_pd as high,
        _mm256_unpacklo_pd as low,
    };
    let [a, b, c, d]: [__m256d; 4] = bytemuck::cast(x);
    let ([a, b], [c, d]) = ([low(a, b), high(a, b)], [low(c, d), high(c, d)]);
    bytemuck::cast([
        halves::<0x20>(a, c),
        halves::<0x20>(b, d),
        halves::<0x31>(a, c),
        halves::<0x31>(b, d),
    ])
}
