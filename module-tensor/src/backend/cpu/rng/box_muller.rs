use super::cephes;
use super::float::sealed::Wide;
use super::fused::{FusedLoop, fused_f32};

/// The number of values that are made at a time.
const MOST: usize = 256;

/// The Box–Muller transform in `f32` as PyTorch's AVX2 kernel has it: blocks of sixteen uniforms, of
/// which the first eight give radii and the others angles.
pub(super) struct BoxMuller<'a> {
    /// Whole blocks.
    pub(super) words: &'a [u32],
    pub(super) out: &'a mut [f32],
    pub(super) mean: f32,
    pub(super) std: f32,
}

#[allow(clippy::inline_always)]
impl FusedLoop for BoxMuller<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { mean, std, .. } = self;
        // All radii and all angles in one row each, so that one loop serves vectors of any length.
        let (mut first, mut second) = ([0.0_f32; MOST / 2], [0.0_f32; MOST / 2]);
        for (words, out) in self.words.chunks(MOST).zip(self.out.chunks_mut(MOST)) {
            let (blocks, _) = words.as_chunks::<16>();
            let rows = first.as_chunks_mut::<8>().0.iter_mut();
            for (words, (a, b)) in blocks.iter().zip(rows.zip(second.as_chunks_mut::<8>().0)) {
                for j in 0..8 {
                    // [0, 1) becomes (0, 1], of which there is always a logarithm.
                    a[j] = 1.0 - f32::unit(words[j]);
                    b[j] = f32::unit(words[j + 8]);
                }
            }
            for (a, b) in first.iter_mut().zip(&mut second).take(words.len() / 2) {
                let radius = (-2.0 * cephes::ln::<FMA>(*a)).sqrt();
                let (sin, cos) = cephes::sin_cos::<FMA>(std::f32::consts::TAU * *b);
                *a = fused_f32::<FMA>(radius * cos, std, mean);
                *b = fused_f32::<FMA>(radius * sin, std, mean);
            }
            let rows = first.as_chunks::<8>().0.iter();
            let (blocks, _) = out.as_chunks_mut::<16>();
            for (out, (a, b)) in blocks.iter_mut().zip(rows.zip(second.as_chunks::<8>().0)) {
                let (left, right) = out.split_at_mut(8);
                left.copy_from_slice(a);
                right.copy_from_slice(b);
            }
        }
    }
}
