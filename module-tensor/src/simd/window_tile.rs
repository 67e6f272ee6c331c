//! Tiles of a product with windows, which are read where they lie, for the registers of AVX-512.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::{BASELINE_HAS_FMA, Level, Leveled};
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

    /// Whether the tiles fill the registers of a level; elsewhere they are slower, and have the same bits.
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
                let sums: &mut [[$type; 2 * $lanes]] = sums.as_chunks_mut().0;
                #[cfg(target_arch = "x86_64")]
                if level.0 == super::Instructions::Avx512 {
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    unsafe { $avx512::<LINES, WIDTH>(product, sums) };
                    return;
                }
                level.run(FewRows {
                    product,
                    width: WIDTH,
                    sums: &mut sums[..LINES * WIDTH],
                    fused: |a: $type, b, sum| a.mul_add(b, sum),
                    rounded: |a: $type, b, sum| a * b + sum,
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

/// The rows that are summed at a time where there are fewer registers.
const FEW: usize = 3;

/// A tile for fewer registers, with the same bits where there is an instruction for multiply-adds.
struct FewRows<'a, T, F, R, const COLUMNS: usize> {
    product: &'a WindowProduct<'a, T>,
    width: usize,
    sums: &'a mut [[T; COLUMNS]],
    fused: F,
    rounded: R,
}

impl<T, F, R, const COLUMNS: usize> Leveled for FewRows<'_, T, F, R, COLUMNS>
where
    T: Copy + Default + std::ops::AddAssign,
    F: Fn(T, T, T) -> T,
    R: Fn(T, T, T) -> T,
{
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        add_rows(self.product, self.width, self.sums, self.fused);
    }

    #[inline(always)]
    fn run_avx2(self) {
        add_rows(self.product, self.width, self.sums, self.fused);
    }

    #[inline(always)]
    fn run_baseline(self) {
        match BASELINE_HAS_FMA {
            true => add_rows(self.product, self.width, self.sums, self.fused),
            false => add_rows(self.product, self.width, self.sums, self.rounded),
        }
    }
}

#[inline(always)]
fn add_rows<T: Copy + Default + std::ops::AddAssign, const COLUMNS: usize>(
    product: &WindowProduct<'_, T>,
    width: usize,
    out: &mut [[T; COLUMNS]],
    fused: impl Fn(T, T, T) -> T,
) {
    let panel: &[[T; COLUMNS]] = product.panel.as_chunks().0;
    for (group, out) in out.chunks_mut(FEW).enumerate() {
        let mut sums = [[T::default(); COLUMNS]; FEW];
        // What is missing is computed from the last row and not written.
        let row = |i: usize| group * FEW + i.min(out.len() - 1);
        let at: [usize; FEW] =
            std::array::from_fn(|i| row(i) / width * product.step + row(i) % width);
        for (&offset, line) in product.offsets.iter().zip(panel) {
            for (sums, at) in zip_mut(&mut sums, &at) {
                let window = product.data[offset as usize + at];
                for (sum, &v) in zip_mut(sums, line) {
                    *sum = fused(window, v, *sum);
                }
            }
        }
        for (out, sums) in zip_mut(out, &sums) {
            match product.add {
                true => zip_mut(out, sums).for_each(|(out, &sum)| *out += sum),
                false => *out = *sums,
            }
        }
    }
}
