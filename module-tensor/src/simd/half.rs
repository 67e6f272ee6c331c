//! Numbers of half precision from and to `f32`, by the instructions of AVX-512.

use half::f16;

use super::Level;

/// Numbers to be converted, and where to.
// Only x86-64 has the instructions that read them.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum F16Slices<'a> {
    Widen(&'a [f16], &'a mut [f32]),
    /// Rounded to nearest even; a NaN stays one, and keeps the bits that fit.
    Narrow(&'a [f32], &'a mut [f16]),
}

/// Converts the first numbers, as many as fill registers, and returns how many: none where there is no such instruction.
pub(crate) fn convert_f16(level: Level, slices: F16Slices<'_>) -> usize {
    // Elsewhere no level has the instructions.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (level, slices);
    #[cfg(target_arch = "x86_64")]
    if level.0 == super::Instructions::Avx512 {
        // SAFETY: a level is only made where the processor has what the function was compiled for.
        return unsafe { convert_avx512(slices) };
    }
    0
}

/// The lanes of [`f16_lane_sums`].
pub(crate) const F16_LANES: usize = 64;

/// The sums of the products of two rows with a vector, each lane by itself, if there is an instruction that widens; products
/// and sums are rounded.
pub(crate) fn f16_lane_sums(
    level: Level,
    rows: [&[f16]; 2],
    vector: &[f32],
) -> Option<[[f32; F16_LANES]; 2]> {
    // Elsewhere no level has the instructions.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (level, rows, vector);
    #[cfg(target_arch = "x86_64")]
    if level.0 == super::Instructions::Avx512 {
        // SAFETY: a level is only made where the processor has what the function was compiled for.
        return Some(unsafe { lane_sums_avx512(rows, vector) });
    }
    None
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn lane_sums_avx512(rows: [&[f16]; 2], vector: &[f32]) -> [[f32; F16_LANES]; 2] {
    use half::slice::HalfFloatSliceExt;
    use std::arch::x86_64::{
        __m512, _mm512_add_ps, _mm512_cvtph_ps, _mm512_mul_ps, _mm512_setzero_ps,
    };
    const LANES: usize = 16;
    const REGISTERS: usize = F16_LANES / LANES;
    let [a, b] = rows.map(|row| row.reinterpret_cast().as_chunks::<F16_LANES>().0);
    let mut sums = [[_mm512_setzero_ps(); REGISTERS]; 2];
    for (vector, (a, b)) in vector
        .as_chunks::<F16_LANES>()
        .0
        .iter()
        .zip(a.iter().zip(b))
    {
        let vector: [__m512; REGISTERS] = bytemuck::cast(*vector);
        for (sums, row) in crate::zip::zip_mut(&mut sums, &[a, b]) {
            let row = row.as_chunks::<LANES>().0;
            for i in 0..REGISTERS {
                let wide = _mm512_cvtph_ps(bytemuck::cast(row[i]));
                sums[i] = _mm512_add_ps(sums[i], _mm512_mul_ps(wide, vector[i]));
            }
        }
    }
    bytemuck::cast(sums)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn convert_avx512(slices: F16Slices<'_>) -> usize {
    use half::slice::HalfFloatSliceExt;
    use std::arch::x86_64::{
        _MM_FROUND_NO_EXC, _MM_FROUND_TO_NEAREST_INT, _mm512_cvtph_ps, _mm512_cvtps_ph,
    };
    match slices {
        F16Slices::Widen(from, to) => {
            let (from, _) = from.reinterpret_cast().as_chunks::<16>();
            let (from, _) = from.as_chunks::<4>();
            let (to, _) = to.as_chunks_mut::<16>();
            let (to, _) = to.as_chunks_mut::<4>();
            for (to, from) in crate::zip::zip_mut(to, from) {
                for i in 0..4 {
                    to[i] = bytemuck::cast(_mm512_cvtph_ps(bytemuck::cast(from[i])));
                }
            }
            64 * from.len().min(to.len())
        }
        F16Slices::Narrow(from, to) => {
            const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
            let (from, _) = from.as_chunks::<16>();
            let (from, _) = from.as_chunks::<4>();
            let (to, _) = to.reinterpret_cast_mut().as_chunks_mut::<16>();
            let (to, _) = to.as_chunks_mut::<4>();
            for (to, from) in crate::zip::zip_mut(to, from) {
                for i in 0..4 {
                    to[i] = bytemuck::cast(_mm512_cvtps_ph::<NEAREST>(bytemuck::cast(from[i])));
                }
            }
            64 * from.len().min(to.len())
        }
    }
}
