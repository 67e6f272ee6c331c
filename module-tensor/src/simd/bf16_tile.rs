//! Tiles of a product of matrices of `bf16`, by the instruction that multiplies pairs of them.

use super::{Instructions, Level};

/// The sizes of a tile, whose sums fill the registers of AVX-512.
pub(crate) const ROWS: usize = 12;
pub(crate) const COLUMNS: usize = 32;

/// Two `bf16` that are neighbors along the inner dimension of a product, as they lie in memory.
pub(crate) type Pair = [u16; 2];

/// The instruction for sums of products of [`Pair`]s; only detection makes one.
#[derive(Clone, Copy)]
pub(crate) struct Bf16Dot(());

impl Bf16Dot {
    /// The instruction, if the processor has it and the level is that of AVX-512.
    pub(crate) fn detect() -> Option<Self> {
        match Level::highest().0 {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512 => is_x86_feature_detected!("avx512bf16").then_some(Self(())),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2 => None,
            Instructions::Baseline => None,
        }
    }

    /// `sums[i][j] = Σ rows[i][p] · panel[p][j]`, where the product of two pairs is the sum of both products.
    ///
    /// In the order of `p`, the product of the second numbers of a pair and then that of the first are added by fused
    /// multiply-adds. Subnormal numbers count as zero.
    #[inline]
    pub(crate) fn tile(
        self,
        rows: &[&[Pair]; ROWS],
        panel: &[[Pair; COLUMNS]],
    ) -> [[f32; COLUMNS]; ROWS] {
        #[cfg(target_arch = "x86_64")]
        {
            // SAFETY: the value of this type says that the processor has what the function was compiled for.
            unsafe { tile(rows, panel) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        {
            // Not reached: there is no value of this type.
            let _ = (rows, panel);
            [[f32::NAN; COLUMNS]; ROWS]
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bf16")]
fn tile(rows: &[&[Pair]; ROWS], panel: &[[Pair; COLUMNS]]) -> [[f32; COLUMNS]; ROWS] {
    use std::arch::x86_64::{__m512bh, _mm512_dpbf16_ps, _mm512_set1_epi32, _mm512_setzero_ps};
    let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
    // One length for all, so that it is checked once.
    let mut rows = *rows;
    for row in &mut rows {
        *row = &row[..panel.len()];
    }
    for (p, line) in panel.iter().enumerate() {
        let line: [__m512bh; 2] = bytemuck::cast(*line);
        for (sums, row) in crate::zip::zip_mut(&mut sums, &rows) {
            let factor = bytemuck::cast(_mm512_set1_epi32(bytemuck::cast(row[p])));
            *sums = [0, 1].map(|i| _mm512_dpbf16_ps(sums[i], factor, line[i]));
        }
    }
    bytemuck::cast(sums)
}
