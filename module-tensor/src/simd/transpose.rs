//! Transposes lines of numbers, square blocks of them in registers.

use half::{bf16, f16};

use super::{Instructions, Level};
use crate::zip::zip_mut;
use crate::{Complex, F8E4M3, F8E5M2};

/// Numbers that have a way of transposing.
pub(crate) trait Transpose: Copy {
    /// `out[p · stride + i] = lines[i][p]`; all lines are of one length, of which `out` has as many rows.
    fn transpose(level: Level, lines: &[&[Self]], out: &mut [Self], stride: usize);
}

/// The numbers of one size, how lines of them are transposed at each level, and a square.
macro_rules! transpose {
    ($type:ty, $side:literal, $avx512:ident, $avx2:ident, $block:ident) => {
        impl Transpose for $type {
            fn transpose(level: Level, lines: &[&[Self]], out: &mut [Self], stride: usize) {
                match level.0 {
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    #[cfg(target_arch = "x86_64")]
                    Instructions::Avx512 | Instructions::Avx2 => unsafe {
                        match level.0 == Instructions::Avx512 {
                            true => $avx512(lines, out, stride),
                            false => $avx2(lines, out, stride),
                        }
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

transpose!(f32, 8, transpose_wide_f32, transpose_f32, square_f32);
transpose!(f64, 4, transpose_f64, transpose_f64, square_f64);
transpose!(i64, 4, transpose_i64, transpose_i64, square_i64);

/// Numbers for which no instructions were chosen: blocks go through memory.
macro_rules! transpose_one_by_one {
    ($($type:ty),* $(,)?) => {$(
        impl Transpose for $type {
            fn transpose(_: Level, lines: &[&[Self]], out: &mut [Self], stride: usize) {
                squares::<$type, 16>(lines, out, stride, one_by_one);
            }
        }
    )*};
}

transpose_one_by_one!(
    f16,
    bf16,
    i32,
    u8,
    bool,
    i8,
    i16,
    u16,
    u32,
    F8E4M3,
    F8E5M2,
    Complex<f32>
);

/// Large squares of as many lines as there are, and small ones of the rest.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx2")]
fn transpose_wide_f32(lines: &[&[f32]], out: &mut [f32], stride: usize) {
    let is_whole = lines
        .first()
        .is_some_and(|line| line.len().is_multiple_of(16));
    let count = if is_whole { lines.len() / 16 * 16 } else { 0 };
    let (large, small) = lines.split_at(count);
    squares::<f32, 16>(large, out, stride, |square| large_square_f32(square));
    if !small.is_empty() {
        transpose_f32(small, &mut out[count..], stride);
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn large_square_f32(x: [[f32; 16]; 16]) -> [[f32; 16]; 16] {
    use std::arch::x86_64::{
        __m512, _mm512_shuffle_f32x4 as quarters, _mm512_shuffle_ps as pairs,
        _mm512_unpackhi_ps as high, _mm512_unpacklo_ps as low,
    };
    let x: [__m512; 16] = bytemuck::cast(x);
    // Four lines in each quarter of a register: `four[i][j]` has columns j, 4 + j, 8 + j and 12 + j of lines 4 i to 4 i + 3.
    let mut four = [[x[0]; 4]; 4];
    for (i, four) in four.iter_mut().enumerate() {
        let [a, b, c, d] = [x[4 * i], x[4 * i + 1], x[4 * i + 2], x[4 * i + 3]];
        let [ab0, ab1, cd0, cd1] = [low(a, b), high(a, b), low(c, d), high(c, d)];
        *four = [
            pairs::<0x44>(ab0, cd0),
            pairs::<0xee>(ab0, cd0),
            pairs::<0x44>(ab1, cd1),
            pairs::<0xee>(ab1, cd1),
        ];
    }
    let mut out = x;
    for j in 0..4 {
        let [a, b, c, d] = [four[0][j], four[1][j], four[2][j], four[3][j]];
        let (ab0, ab1) = (quarters::<0x44>(a, b), quarters::<0xee>(a, b));
        let (cd0, cd1) = (quarters::<0x44>(c, d), quarters::<0xee>(c, d));
        out[j] = quarters::<0x88>(ab0, cd0);
        out[4 + j] = quarters::<0xdd>(ab0, cd0);
        out[8 + j] = quarters::<0x88>(ab1, cd1);
        out[12 + j] = quarters::<0xdd>(ab1, cd1);
    }
    bytemuck::cast(out)
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn squares<T: Copy, const SIDE: usize>(
    lines: &[&[T]],
    out: &mut [T],
    stride: usize,
    square: impl Fn([[T; SIDE]; SIDE]) -> [[T; SIDE]; SIDE],
) {
    let (groups, rest) = lines.as_chunks::<SIDE>();
    let len = lines.first().map_or(0, |line| line.len());
    // Small squares write a part of a line of the cache: the others are to follow while it is in the first cache, of which
    // rows may all use the same few places.
    let together = if SIDE < 16 { 16 / SIDE } else { len };
    let squares = 0..len / SIDE;
    for start in squares.clone().step_by(together.max(1)) {
        for (i, lines) in groups.iter().enumerate() {
            let whole = |line: &[T], j: usize| line.as_chunks::<SIDE>().0[j];
            for j in start..squares.end.min(start.saturating_add(together)) {
                let mut block = [whole(lines[0], j); SIDE];
                for (to, line) in zip_mut(&mut block, lines) {
                    *to = whole(line, j);
                }
                let rows = &mut out[j * SIDE * stride + i * SIDE..];
                for (p, column) in square(block).iter().enumerate() {
                    rows[p * stride..][..SIDE].copy_from_slice(column);
                }
            }
        }
    }
    for (i, lines) in groups.iter().enumerate() {
        let rest = squares.end * SIDE;
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

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn square_i64(x: [[i64; 4]; 4]) -> [[i64; 4]; 4] {
    bytemuck::cast(square_f64(bytemuck::cast(x)))
}
