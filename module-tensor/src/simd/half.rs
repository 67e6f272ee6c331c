//! Numbers of half precision as `f32`, by the instruction of AVX-512.

use half::f16;

use super::Level;

/// Converts the first numbers, as many as fill registers, and returns how many: none where there is no such instruction.
pub(crate) fn widen_f16(level: Level, from: &[f16], to: &mut [f32]) -> usize {
    // Elsewhere no level has the instruction.
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (level, from, to);
    #[cfg(target_arch = "x86_64")]
    if level.0 == super::Instructions::Avx512 {
        // SAFETY: a level is only made where the processor has what the function was compiled for.
        return unsafe { widen_avx512(from, to) };
    }
    0
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn widen_avx512(from: &[f16], to: &mut [f32]) -> usize {
    use half::slice::HalfFloatSliceExt;
    use std::arch::x86_64::_mm512_cvtph_ps;
    let (from, _) = from.reinterpret_cast().as_chunks::<16>();
    let (to, _) = to.as_chunks_mut::<16>();
    for (to, from) in crate::zip::zip_mut(to, from) {
        *to = bytemuck::cast(_mm512_cvtph_ps(bytemuck::cast(*from)));
    }
    16 * from.len().min(to.len())
}
