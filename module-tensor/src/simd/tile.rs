//! Tiles of a product of matrices that fill the registers of AVX-512.

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::prefetch;
use super::tile_loop::{ROWS, Strip, TileRows};
use crate::zip::{zip, zip_mut};

/// The number of columns of a panel for few rows.
pub(crate) const PANEL: usize = 16;

/// The lines of a panel from one that is read to one that is asked for: panels come from the second-level cache.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 16;

/// The same of rows that are read where they lie, most often each in a page of its own.
#[cfg(target_arch = "x86_64")]
const AHEAD_IN_ROWS: usize = 8;

/// Numbers whose products have such tiles, of `COLUMNS` columns.
pub(crate) trait HighTile: Sized {
    /// `sums[i][j] = Σ rows[i][p] · strip[p][j]`, by fused multiply-adds in the order of `p`; added to what they are if `add`.
    /// The strip has as many lines as there are steps.
    fn high_tile<const COLUMNS: usize>(
        level: Level,
        rows: TileRows<'_, Self>,
        strip: Strip<'_, Self>,
        add: bool,
        sums: [Option<&mut [Self; COLUMNS]>; ROWS],
    );

    /// `sums[s][i][j] = Σ factors[p][i] · panels[s][p][j]`, in the same way, for up to as many rows as a multiply-add takes
    /// steps. The second panel may be empty; its sums are then unspecified. `AVX512` says that the level is that one.
    fn few_rows<const AVX512: bool, const FEW: usize>(
        level: Level,
        factors: &[[Self; FEW]],
        panels: [&[[Self; PANEL]]; 2],
    ) -> [[[Self; PANEL]; FEW]; 2];
}

/// Numbers of one type, and how many are in a register.
macro_rules! high_tile {
    ($type:ident, $lanes:literal, $avx512:ident, $few:ident, $sums:ident, $register:ident, $zero:ident, $all:ident, $fused:ident, $plus:ident) => {
        impl HighTile for $type {
            #[inline(always)]
            #[allow(clippy::inline_always)]
            fn high_tile<const COLUMNS: usize>(
                level: Level,
                rows: TileRows<'_, Self>,
                strip: Strip<'_, Self>,
                add: bool,
                sums: [Option<&mut [Self; COLUMNS]>; ROWS],
            ) {
                // Elsewhere no level has such tiles.
                #[cfg(not(target_arch = "x86_64"))]
                let _ = level;
                #[cfg(target_arch = "x86_64")]
                if level.0 == super::Instructions::Avx512 && COLUMNS == 2 * $lanes {
                    let sums = sums.map(|sums| sums?.as_mut_slice().try_into().ok());
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    unsafe {
                        $avx512(rows, strip, add, sums);
                    }
                    return;
                }
                for (i, sums) in sums.into_iter().enumerate() {
                    for (j, sum) in sums.into_iter().flatten().enumerate() {
                        let lines = strip.data.chunks(strip.step).enumerate();
                        let factors = lines.map_while(|(p, line)| Some((rows.factor(i, p)?, line)));
                        let product =
                            factors.fold(0.0, |sum: $type, (a, line)| a.mul_add(line[j], sum));
                        *sum = if add { *sum + product } else { product };
                    }
                }
            }

            #[inline(always)]
            #[allow(clippy::inline_always)]
            fn few_rows<const AVX512: bool, const FEW: usize>(
                level: Level,
                factors: &[[Self; FEW]],
                panels: [&[[Self; PANEL]]; 2],
            ) -> [[[Self; PANEL]; FEW]; 2] {
                #[cfg(not(target_arch = "x86_64"))]
                let _ = level;
                // The compiler would take one lane of each row for a vector.
                #[cfg(target_arch = "x86_64")]
                if AVX512 && level.0 == super::Instructions::Avx512 {
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    return unsafe { $few(factors, panels) };
                }
                let fused = |a: $type, b, sum| a.mul_add(b, sum);
                let [first, second] = panels;
                match AVX512 {
                    true => few_one_by_one(factors, panels, fused),
                    false => [few(factors, first, fused), few(factors, second, fused)],
                }
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn $few<const FEW: usize>(
            factors: &[[$type; FEW]],
            panels: [&[[$type; PANEL]]; 2],
        ) -> [[[$type; PANEL]; FEW]; 2] {
            use std::arch::x86_64::{$all, $fused, $register, $zero};
            const COUNT: usize = PANEL / $lanes;
            // One length for all, so that it is checked once.
            let [first, second] = panels;
            let second = if second.is_empty() { first } else { second };
            let panels = [first, second].map(|panel| &panel[..factors.len()]);
            let mut sums = [[[$zero(); COUNT]; FEW]; 2];
            // Both panels side by side for each factor, if there are registers for all sums.
            let together: [&[usize]; 2] = match COUNT {
                1 => [&[0, 1], &[]],
                _ => [&[0], &[1]],
            };
            for sides in together {
                for (p, factors) in factors.iter().enumerate() {
                    for &side in sides {
                        let line: [$register; COUNT] = bytemuck::cast(panels[side][p]);
                        for (sums, &factor) in zip_mut(&mut sums[side], factors) {
                            let factor = $all(factor);
                            for i in 0..COUNT {
                                sums[i] = $fused(factor, line[i], sums[i]);
                            }
                        }
                    }
                }
            }
            let mut out = [[[0.0; PANEL]; FEW]; 2];
            for (out, sums) in zip_mut(out.as_flattened_mut(), sums.as_flattened()) {
                *out = bytemuck::cast(*sums);
            }
            out
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        fn $avx512(
            rows: TileRows<'_, $type>,
            strip: Strip<'_, $type>,
            add: bool,
            out: [Option<&mut [$type; 2 * $lanes]>; ROWS],
        ) {
            use std::arch::x86_64::{$plus, $register};
            let is_panel = strip.step == 2 * $lanes;
            let ahead = if is_panel { AHEAD } else { AHEAD_IN_ROWS } * strip.step;
            // Most often sums are written where nothing was written or read for some time.
            for out in out.iter().flatten() {
                prefetch(out.as_ptr());
                prefetch(out.as_ptr().wrapping_add($lanes));
            }
            let sums = super::tile_loop::$sums(rows, strip, ahead);
            for (out, sums) in out.into_iter().zip(sums) {
                let Some(out) = out else { continue };
                let mut total = sums;
                if add {
                    let before: [$register; 2] = bytemuck::cast(*out);
                    total = [0, 1].map(|i| $plus(before[i], sums[i]));
                }
                *out = bytemuck::cast(total);
            }
        }
    };
}

avx512_numbers!(high_tile);

#[inline(always)]
#[allow(clippy::inline_always)]
fn few<T: Copy + Default, const FEW: usize>(
    factors: &[[T; FEW]],
    panel: &[[T; PANEL]],
    fused: impl Fn(T, T, T) -> T,
) -> [[T; PANEL]; FEW] {
    let mut sums = [[T::default(); PANEL]; FEW];
    for (line, factors) in zip(panel, factors) {
        for (sums, &factor) in zip_mut(&mut sums, factors) {
            for (sum, &v) in zip_mut(sums, line) {
                *sum = fused(factor, v, *sum);
            }
        }
    }
    sums
}

/// [`few`] of both panels in less code, for levels that do not occur.
#[inline(never)]
fn few_one_by_one<T: Copy + Default, const FEW: usize>(
    factors: &[[T; FEW]],
    panels: [&[[T; PANEL]]; 2],
    fused: impl Fn(T, T, T) -> T,
) -> [[[T; PANEL]; FEW]; 2] {
    let mut out = [[[T::default(); PANEL]; FEW]; 2];
    for (out, panel) in zip_mut(&mut out, &panels) {
        for (at, sum) in out.as_flattened_mut().iter_mut().enumerate() {
            let (i, j) = (at / PANEL, at % PANEL);
            let products = zip(panel, factors);
            *sum = products.fold(T::default(), |sum, (line, a)| fused(a[i], line[j], sum));
        }
    }
    out
}
