//! Tiles of a product with windows, which are read where they lie, for the registers of AVX-512.

use super::Level;
use crate::zip::zip_mut;

/// A factor of a product whose element `[line, column, p]` lies at `offsets[p] + line · step + column`, and the other.
pub(crate) struct WindowProduct<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) offsets: &'a [u32],
    pub(crate) step: usize,
    /// Rows of [`COLUMNS`](WindowTile::COLUMNS) elements, one for each offset.
    pub(crate) panel: &'a [T],
    /// Whether the sums are added to what there is.
    pub(crate) add: bool,
}

/// Numbers whose products have such tiles.
pub(crate) trait WindowTile: Sized {
    /// The columns of a tile.
    const COLUMNS: usize;

    /// Whether the tiles are made for a level; elsewhere they are slow.
    fn has_window_tiles(level: Level) -> bool;

    /// Writes `Σ data[offsets[p] + line · step + column] · panel[p][j]`, by fused multiply-adds in the order of `p`, to
    /// row `line · WIDTH + column` of `sums`.
    fn window_tile<const LINES: usize, const WIDTH: usize>(
        level: Level,
        product: &WindowProduct<'_, Self>,
        sums: &mut [Self],
    );
}

/// Numbers of one type, and how many are in a register.
macro_rules! window_tile {
    ($type:ident, $lanes:literal, $avx512:ident, $register:ident, $zero:ident, $all:ident, $fused:ident) => {
        impl WindowTile for $type {
            const COLUMNS: usize = 2 * $lanes;

            fn has_window_tiles(level: Level) -> bool {
                level.pick(super::PerLevel {
                    avx512: true,
                    avx2: false,
                    baseline: false,
                })
            }

            fn window_tile<const LINES: usize, const WIDTH: usize>(
                level: Level,
                product: &WindowProduct<'_, Self>,
                sums: &mut [Self],
            ) {
                let sums = sums.as_chunks_mut().0;
                #[cfg(target_arch = "x86_64")]
                if level.0 == super::Instructions::Avx512 {
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    unsafe { $avx512::<LINES, WIDTH>(product, sums) };
                    return;
                }
                let _ = level;
                one_by_one::<$type, { 2 * $lanes }>(product, WIDTH, sums, |a, b, sum| {
                    a.mul_add(b, sum)
                });
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn $avx512<const LINES: usize, const WIDTH: usize>(
            product: &WindowProduct<'_, $type>,
            out: &mut [[$type; 2 * $lanes]],
        ) {
            use std::arch::x86_64::{$all, $fused, $register, $zero};
            let &WindowProduct {
                data,
                offsets,
                step,
                panel,
                add,
            } = product;
            let mut sums = [[[$zero(); 2]; WIDTH]; LINES];
            let panel: &[[$type; 2 * $lanes]] = panel.as_chunks().0;
            for (&offset, line) in offsets.iter().zip(panel) {
                let line: [$register; 2] = bytemuck::cast(*line);
                for (i, sums) in sums.iter_mut().enumerate() {
                    let windows = data.get(offset as usize + i * step..);
                    // Planes are as long as windows reach.
                    let Some(windows) = windows.and_then(<[$type]>::first_chunk::<WIDTH>) else {
                        continue;
                    };
                    for (sums, &window) in zip_mut(sums, windows) {
                        let window = $all(window);
                        *sums = [0, 1].map(|j| $fused(window, line[j], sums[j]));
                    }
                }
            }
            for (line, out) in sums.into_iter().zip(out.chunks_exact_mut(WIDTH)) {
                for (out, sums) in zip_mut(out, &line) {
                    let sums: [$type; 2 * $lanes] = bytemuck::cast(*sums);
                    match add {
                        true => zip_mut(out, &sums).for_each(|(out, sum)| *out += sum),
                        false => *out = sums,
                    }
                }
            }
        }
    };
}

window_tile!(
    f32,
    16,
    tile_f32,
    __m512,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_fmadd_ps
);
window_tile!(
    f64,
    8,
    tile_f64,
    __m512d,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_fmadd_pd
);

fn one_by_one<T: Copy + Default + std::ops::AddAssign, const COLUMNS: usize>(
    product: &WindowProduct<'_, T>,
    width: usize,
    out: &mut [[T; COLUMNS]],
    fused: impl Fn(T, T, T) -> T,
) {
    for (row, out) in out.iter_mut().enumerate() {
        let mut sums = [T::default(); COLUMNS];
        let at = row / width * product.step + row % width;
        let panel: &[[T; COLUMNS]] = product.panel.as_chunks().0;
        for (&offset, line) in product.offsets.iter().zip(panel) {
            let window = product.data[offset as usize + at];
            for (sum, &v) in zip_mut(&mut sums, line) {
                *sum = fused(window, v, *sum);
            }
        }
        match product.add {
            true => zip_mut(out, &sums).for_each(|(out, &sum)| *out += sum),
            false => *out = sums,
        }
    }
}
