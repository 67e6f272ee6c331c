//! Tiles of a product with vectors that planes have at any offset, for the registers of AVX-512.

use super::Level;
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
pub(crate) trait PlaneTile: Sized {
    const COLUMNS: usize;

    /// Writes `Σ factors[p][i] · planes[starts[p] + j]`, by fused multiply-adds in the order of `p`, to `sums[i · pitch + j]`.
    fn plane_tile(level: Level, product: &PlaneProduct<'_, Self>, pitch: usize, sums: &mut [Self]);
}

/// Numbers of one type, and how many are in a register.
macro_rules! plane_tile {
    ($type:ident, $lanes:literal, $avx512:ident, $few:ident, $register:ident, $zero:ident, $all:ident, $fused:ident) => {
        impl PlaneTile for $type {
            const COLUMNS: usize = VECTORS * $lanes;

            fn plane_tile(
                level: Level,
                product: &PlaneProduct<'_, Self>,
                pitch: usize,
                sums: &mut [Self],
            ) {
                // Elsewhere no level has such tiles.
                #[cfg(not(target_arch = "x86_64"))]
                let _ = level;
                #[cfg(target_arch = "x86_64")]
                if level.0 == super::Instructions::Avx512 {
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    unsafe { $avx512(product, pitch, sums) };
                    return;
                }
                for (i, sums) in sums.chunks_mut(pitch).take(ROWS).enumerate() {
                    for (j, out) in sums[..Self::COLUMNS].iter_mut().enumerate() {
                        let pairs = zip(product.factors, product.starts);
                        let sum = pairs.fold(0.0, |sum: $type, (factors, start)| {
                            factors[i].mul_add(product.planes[start + j], sum)
                        });
                        *out = if product.add { *out + sum } else { sum };
                    }
                }
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        #[allow(clippy::needless_range_loop)]
        fn $avx512(product: &PlaneProduct<'_, $type>, pitch: usize, out: &mut [$type]) {
            use std::arch::x86_64::{$all, $fused, $register, $zero};
            const COLUMNS: usize = VECTORS * $lanes;
            let mut sums = [[$zero(); VECTORS]; ROWS];
            for (&start, factors) in zip(product.starts, product.factors) {
                let Some(line) = product.planes.get(start..start + COLUMNS) else {
                    break;
                };
                let line = line.as_chunks::<$lanes>().0;
                let mut vectors: [$register; VECTORS] = [$zero(); VECTORS];
                for v in 0..VECTORS {
                    vectors[v] = bytemuck::cast(line[v]);
                }
                for i in 0..ROWS {
                    let factor = $all(factors[i]);
                    for v in 0..VECTORS {
                        sums[i][v] = $fused(factor, vectors[v], sums[i][v]);
                    }
                }
            }
            for (sums, out) in sums.into_iter().zip(out.chunks_mut(pitch)) {
                for (sums, out) in sums.into_iter().zip(out.as_chunks_mut::<$lanes>().0) {
                    let sums: [$type; $lanes] = bytemuck::cast(sums);
                    match product.add {
                        true => zip_mut(out, &sums).for_each(|(out, sum)| *out += sum),
                        false => *out = sums,
                    }
                }
            }
        }
    };
}

avx512_numbers!(plane_tile);
