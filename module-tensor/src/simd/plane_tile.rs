//! Tiles of a product with vectors that planes have at any offset, for the registers of AVX-512.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m512, _mm512_fmadd_ps, _mm512_set1_ps, _mm512_setzero_ps};

use super::window_product::LANES;
use super::{Level, WindowTile};
use crate::zip::zip;
#[cfg(target_arch = "x86_64")]
use crate::zip::zip_mut;

/// The number of rows of a tile, and of registers in a row of sums.
pub(crate) const ROWS: usize = 8;
pub(crate) const VECTORS: usize = 3;

/// A factor of which an element belongs to each start, and the other, which begins there in planes.
pub(crate) struct PlaneProduct<'a, T> {
    /// The elements of all rows side by side, for each start.
    pub(crate) factors: &'a [[T; ROWS]],
    pub(crate) starts: &'a [usize],
    pub(crate) planes: &'a [T],
    /// Whether the sums are added to what there is.
    pub(crate) add: bool,
}

/// Numbers whose products have such tiles, of `COLUMNS` columns.
pub(crate) trait PlaneTile: WindowTile {
    const COLUMNS: usize;

    /// Writes `Σ factors[p][i] · planes[starts[p] + j]`, by fused multiply-adds in the order of `p`, to `sums[i · pitch + j]`.
    fn plane_tile(level: Level, product: &PlaneProduct<'_, Self>, pitch: usize, sums: &mut [Self]);
}

impl PlaneTile for f32 {
    const COLUMNS: usize = VECTORS * LANES;

    fn plane_tile(level: Level, product: &PlaneProduct<'_, Self>, pitch: usize, sums: &mut [Self]) {
        #[cfg(target_arch = "x86_64")]
        if level.0 == super::Instructions::Avx512 {
            // SAFETY: a level is only made where the processor has what the function was compiled for.
            unsafe { plane_tile_f32(product, pitch, sums) };
            return;
        }
        // Elsewhere no level has such registers.
        #[cfg(not(target_arch = "x86_64"))]
        let _ = level;
        add_one_by_one(product, pitch, sums);
    }
}

impl PlaneTile for f64 {
    const COLUMNS: usize = VECTORS * 8;

    fn plane_tile(_: Level, product: &PlaneProduct<'_, Self>, pitch: usize, sums: &mut [Self]) {
        add_one_by_one(product, pitch, sums);
    }
}

/// The tile where no level has registers for it.
fn add_one_by_one<T: PlaneTile>(product: &PlaneProduct<'_, T>, pitch: usize, sums: &mut [T]) {
    for (i, sums) in sums.chunks_mut(pitch).take(ROWS).enumerate() {
        for (j, out) in sums[..T::COLUMNS].iter_mut().enumerate() {
            let pairs = zip(product.factors, product.starts);
            let sum = pairs.fold(T::default(), |sum, (factors, start)| {
                factors[i].multiply_add(product.planes[start + j], sum)
            });
            *out = if product.add { *out + sum } else { sum };
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[allow(clippy::needless_range_loop)]
fn plane_tile_f32(product: &PlaneProduct<'_, f32>, pitch: usize, out: &mut [f32]) {
    const COLUMNS: usize = VECTORS * LANES;
    let mut sums = [[_mm512_setzero_ps(); VECTORS]; ROWS];
    for (&start, factors) in zip(product.starts, product.factors) {
        let Some(line) = product.planes.get(start..start + COLUMNS) else {
            break;
        };
        let line = line.as_chunks::<LANES>().0;
        let mut vectors: [__m512; VECTORS] = [_mm512_setzero_ps(); VECTORS];
        for v in 0..VECTORS {
            vectors[v] = bytemuck::cast(line[v]);
        }
        for i in 0..ROWS {
            let factor = _mm512_set1_ps(factors[i]);
            for v in 0..VECTORS {
                sums[i][v] = _mm512_fmadd_ps(factor, vectors[v], sums[i][v]);
            }
        }
    }
    for (sums, out) in sums.into_iter().zip(out.chunks_mut(pitch)) {
        for (sums, out) in sums.into_iter().zip(out.as_chunks_mut::<LANES>().0) {
            let sums: [f32; LANES] = bytemuck::cast(sums);
            match product.add {
                true => zip_mut(out, &sums).for_each(|(out, sum)| *out += sum),
                false => *out = sums,
            }
        }
    }
}
