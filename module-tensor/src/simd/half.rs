//! Numbers of half precision from and to `f32`, by the instructions of each level.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT};

use half::f16;
#[cfg(target_arch = "x86_64")]
use half::slice::HalfFloatSliceExt;

use super::Level;
#[cfg(target_arch = "x86_64")]
use crate::zip::{zip, zip_mut};

/// Numbers to be converted, and where to.
// Only x86-64 has the instructions that read them.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum F16Slices<'a> {
    Widen(&'a [f16], &'a mut [f32]),
    /// Rounded to nearest even; a NaN stays one, and keeps the bits that fit.
    Narrow(&'a [f32], &'a mut [f16]),
    /// An operation on pairs, widened and rounded.
    Pairs(HalfOp, [&'a [f16]; 2], &'a mut [f16]),
}

/// Operations on numbers of half precision, which take less time than to widen and to round them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum HalfOp {
    Add,
    Sub,
    Mul,
}

/// Converts the first numbers, as many as fill registers, and returns how many: none where there is no such instruction.
pub(crate) fn convert_f16(level: Level, slices: F16Slices<'_>) -> usize {
    // Elsewhere no level has the instructions.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (level, slices);
    #[cfg(target_arch = "x86_64")]
    match level.0 {
        // SAFETY: a level is only made where the processor has what the function was compiled for.
        super::Instructions::Avx512 => return unsafe { convert_avx512(slices) },
        // SAFETY: as above.
        super::Instructions::Avx2 => return unsafe { convert_avx2(slices) },
        super::Instructions::Baseline => {}
    }
    0
}

/// The lanes of [`f16_dots`].
#[cfg(target_arch = "x86_64")]
const F16_LANES: usize = 64;

/// The sum of the products of each row with a vector, if there is an instruction that widens: in lanes, then these in groups of
/// eight side by side, then what `sum` makes of the eight sums. Products and sums are rounded.
pub(crate) fn f16_dots<const ROWS: usize>(
    level: Level,
    rows: [&[f16]; ROWS],
    vector: &[f32],
    sum: impl Fn([f32; 8]) -> f32,
) -> Option<[f32; ROWS]> {
    // Elsewhere no level has the instructions.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (level, rows, vector, sum);
    #[cfg(target_arch = "x86_64")]
    match level.0 {
        // SAFETY: a level is only made where the processor has what the function was compiled for.
        super::Instructions::Avx512 => return Some(unsafe { dots_avx512(rows, vector, sum) }),
        // SAFETY: as above.
        super::Instructions::Avx2 => return Some(unsafe { dots_avx2(rows, vector, sum) }),
        super::Instructions::Baseline => {}
    }
    None
}

/// The sums of lanes in groups of eight side by side. Of a loop without intrinsics, the compiler makes sums of pairs.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
#[inline]
fn sums_of_eight(lanes: [f32; F16_LANES]) -> [f32; 8] {
    use std::arch::x86_64::{__m256, _mm256_add_ps, _mm256_setzero_ps};
    let lanes: [__m256; F16_LANES / 8] = bytemuck::cast(lanes);
    let mut sums = _mm256_setzero_ps();
    for eight in lanes {
        sums = _mm256_add_ps(sums, eight);
    }
    bytemuck::cast(sums)
}

/// The functions of a level: its instructions, the numbers in a register, the register, the intrinsics for sums, differences,
/// products and zeros, and those that widen and narrow, with how to round.
macro_rules! conversions {
    ($dots:ident, $convert:ident, $features:literal, $lanes:literal, $register:ident, $add:ident, $sub:ident, $mul:ident, $zero:ident, $widen:ident, $narrow:ident, $round:expr) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $dots<const ROWS: usize>(
            rows: [&[f16]; ROWS],
            vector: &[f32],
            sum: impl Fn([f32; 8]) -> f32,
        ) -> [f32; ROWS] {
            use std::arch::x86_64::{$add, $mul, $register, $widen, $zero};
            const REGISTERS: usize = F16_LANES / $lanes;
            let vector = vector.as_chunks::<F16_LANES>().0;
            let mut lines: [&[[u16; F16_LANES]]; ROWS] = [&[]; ROWS];
            for (line, row) in zip_mut(&mut lines, &rows) {
                // One length for all, so that it is checked once.
                *line = &row.reinterpret_cast().as_chunks().0[..vector.len()];
            }
            let mut sums = [[$zero(); REGISTERS]; ROWS];
            for (p, vector) in vector.iter().enumerate() {
                let vector: [$register; REGISTERS] = bytemuck::cast(*vector);
                for (sums, line) in zip_mut(&mut sums, &lines) {
                    let row = line[p].as_chunks::<$lanes>().0;
                    for i in 0..REGISTERS {
                        let wide = $widen(bytemuck::cast(row[i]));
                        sums[i] = $add(sums[i], $mul(wide, vector[i]));
                    }
                }
            }
            let mut dots = [0.0; ROWS];
            for (dot, sums) in zip_mut(&mut dots, &sums) {
                *dot = sum(sums_of_eight(bytemuck::cast(*sums)));
            }
            dots
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = $features)]
        fn $convert(slices: F16Slices<'_>) -> usize {
            use std::arch::x86_64::{$add, $mul, $narrow, $sub, $widen};
            match slices {
                F16Slices::Widen(from, to) => {
                    let (from, _) = from.reinterpret_cast().as_chunks::<$lanes>();
                    let (from, _) = from.as_chunks::<4>();
                    let (to, _) = to.as_chunks_mut::<$lanes>();
                    let (to, _) = to.as_chunks_mut::<4>();
                    for (to, from) in zip_mut(to, from) {
                        for i in 0..4 {
                            to[i] = bytemuck::cast($widen(bytemuck::cast(from[i])));
                        }
                    }
                    4 * $lanes * from.len().min(to.len())
                }
                F16Slices::Narrow(from, to) => {
                    let (from, _) = from.as_chunks::<$lanes>();
                    let (from, _) = from.as_chunks::<4>();
                    let (to, _) = to.reinterpret_cast_mut().as_chunks_mut::<$lanes>();
                    let (to, _) = to.as_chunks_mut::<4>();
                    for (to, from) in zip_mut(to, from) {
                        for i in 0..4 {
                            to[i] = bytemuck::cast($narrow::<{ $round }>(bytemuck::cast(from[i])));
                        }
                    }
                    4 * $lanes * from.len().min(to.len())
                }
                F16Slices::Pairs(op, pair, to) => {
                    let [a, b] = pair.map(|x| x.reinterpret_cast().as_chunks::<$lanes>().0);
                    let (to, _) = to.reinterpret_cast_mut().as_chunks_mut::<$lanes>();
                    for (to, (a, b)) in to.iter_mut().zip(zip(a, b)) {
                        let (a, b) = ($widen(bytemuck::cast(*a)), $widen(bytemuck::cast(*b)));
                        let wide = match op {
                            HalfOp::Add => $add(a, b),
                            HalfOp::Sub => $sub(a, b),
                            HalfOp::Mul => $mul(a, b),
                        };
                        *to = bytemuck::cast($narrow::<{ $round }>(wide));
                    }
                    $lanes * a.len().min(b.len()).min(to.len())
                }
            }
        }
    };
}

conversions!(
    dots_avx512,
    convert_avx512,
    "avx512f",
    16,
    __m512,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_setzero_ps,
    _mm512_cvtph_ps,
    _mm512_cvtps_ph,
    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC
);
conversions!(
    dots_avx2,
    convert_avx2,
    "avx2,f16c",
    8,
    __m256,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_setzero_ps,
    _mm256_cvtph_ps,
    _mm256_cvtps_ph,
    _MM_FROUND_TO_NEAREST_INT
);
