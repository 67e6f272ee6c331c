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
