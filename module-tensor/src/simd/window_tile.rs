//! Tiles of a product with windows, which are read where they lie, for the registers of AVX-512.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m512, _mm512_fmadd_ps, _mm512_set1_ps, _mm512_setzero_ps};
use std::ops::{Add, AddAssign, Mul};

use super::Level;
#[cfg(target_arch = "x86_64")]
use super::window_product::{ENDS, padded_columns};
use super::window_product::{LANES, Walk, WindowProduct};
use super::window_rows::{FewRows, Row, TileSize};
#[cfg(target_arch = "x86_64")]
use crate::zip::zip_mut;

/// Numbers whose products have such tiles.
pub(crate) trait WindowTile:
    Copy + Default + AddAssign + Add<Output = Self> + Mul<Output = Self>
{
    /// The numbers of a register.
    const LANES: usize;

    /// `self · factor + term`, rounded once.
    fn multiply_add(self, factor: Self, term: Self) -> Self;

    /// Whether there are loops of their own, such as these tiles, for convolutions of common sizes. Without them convolutions are
    /// products of matrices, which leaves less to compile.
    const HAS_CONV_LOOPS: bool;

    /// Whether the tiles fill the registers of a level; elsewhere they are slower, and have the same bits.
    fn has_window_tiles(level: Level) -> bool {
        let values = super::PerLevel {
            avx512: true,
            avx2: false,
            baseline: false,
        };
        Self::HAS_CONV_LOOPS && level.pick(values)
    }

    /// Writes `Σ data[offset + lines[line] + column · STEP] · panel[row]`, by fused multiply-adds in the order of the
    /// taps, to row `line · WIDTH + column` of `sums`. Rows of sums and panel have `VECTORS · LANES` elements. `MANY`
    /// says whether taps have more than one product.
    fn window_tile<
        const VECTORS: usize,
        const LINES: usize,
        const WIDTH: usize,
        const STEP: usize,
        const MANY: bool,
    >(
        level: Level,
        product: &WindowProduct<'_, Self>,
        sums: &mut [Self],
    );
}

impl WindowTile for f32 {
    const LANES: usize = LANES;
    const HAS_CONV_LOOPS: bool = true;

    #[inline(always)]
    fn multiply_add(self, factor: Self, term: Self) -> Self {
        self.mul_add(factor, term)
    }

    fn window_tile<
        const VECTORS: usize,
        const LINES: usize,
        const WIDTH: usize,
        const STEP: usize,
        const MANY: bool,
    >(
        level: Level,
        product: &WindowProduct<'_, Self>,
        sums: &mut [Self],
    ) {
        #[cfg(target_arch = "x86_64")]
        if level.0 == super::Instructions::Avx512 {
            let mut tile = [[[[0.0; LANES]; VECTORS]; WIDTH]; LINES];
            // SAFETY: a level is only made where the processor has what the function was compiled for.
            let add_products = |tile: &mut _| unsafe {
                tile_f32::<VECTORS, LINES, WIDTH, STEP, MANY>(product, tile);
            };
            let sums: &mut [[[f32; LANES]; VECTORS]] = sums.as_chunks_mut().0.as_chunks_mut().0;
            match sums.as_chunks_mut().0.first_chunk_mut() {
                Some(sums) if !product.add => {
                    *sums = tile;
                    add_products(sums);
                }
                _ => {
                    add_products(&mut tile);
                    write(tile.as_flattened(), product.add, sums);
                }
            }
            return;
        }
        let size = TileSize {
            vectors: VECTORS,
            lines: LINES,
            width: WIDTH,
            step: STEP,
        };
        FewRows::run(level, product, size, sums);
    }
}

/// Convolutions of `f64` take another way, and compute no tiles: they would double the code that is compiled, for a type that few
/// networks are trained in.
impl WindowTile for f64 {
    const LANES: usize = 8;
    const HAS_CONV_LOOPS: bool = false;

    #[inline(always)]
    fn multiply_add(self, factor: Self, term: Self) -> Self {
        self.mul_add(factor, term)
    }

    fn window_tile<
        const VECTORS: usize,
        const LINES: usize,
        const WIDTH: usize,
        const STEP: usize,
        const MANY: bool,
    >(
        _: Level,
        product: &WindowProduct<'_, Self>,
        sums: &mut [Self],
    ) {
        let channels = VECTORS * Self::LANES;
        for (at, out) in sums.iter_mut().enumerate().take(LINES * WIDTH * channels) {
            let (row, channel) = (at / channels, at % channels);
            let row = Row::new(product, [WIDTH, STEP], row);
            let mut sum = 0.0;
            let mut walk = Walk::new(product);
            while let Some((offset, first, taps)) = walk.step(product) {
                for tap in taps.iter().filter(|tap| !row.is_in(tap.padding)) {
                    let data = &product.data[offset + tap.offset as usize + row.start..];
                    let weights = &product.panel[(first + tap.row as usize) * channels + channel..];
                    for i in 0..tap.count as usize {
                        sum = data[i * product.step].mul_add(weights[i * channels], sum);
                    }
                }
            }
            *out = if product.add { *out + sum } else { sum };
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[allow(clippy::needless_range_loop)]
pub(super) fn tile_f32<
    const VECTORS: usize,
    const LINES: usize,
    const WIDTH: usize,
    const STEP: usize,
    const MANY: bool,
>(
    product: &WindowProduct<'_, f32>,
    tile: &mut [[[[f32; LANES]; VECTORS]; WIDTH]; LINES],
) {
    let (reach, ends) = const { ((WIDTH - 1) * STEP + 1, padded_columns(LINES)) };
    let mut sums = [[[_mm512_setzero_ps(); VECTORS]; WIDTH]; LINES];
    for i in 0..LINES {
        for j in 0..WIDTH {
            for v in 0..VECTORS {
                sums[i][j][v] = bytemuck::cast(tile[i][j][v]);
            }
        }
    }
    let panel: &[[[f32; LANES]; VECTORS]] = product.panel.as_chunks().0.as_chunks().0;
    let Some(starts) = product.lines.first_chunk::<LINES>() else {
        return;
    };
    // Taps of one product are checked once for each channel, by those that reach furthest: with several lines it takes time.
    let checked_once = const { !MANY && LINES > 1 };
    let furthest = product.taps.iter().fold([0, 0], |[offset, row], tap| {
        [offset.max(tap.offset as usize), row.max(tap.row as usize)]
    });
    let last_line = starts.iter().fold(0_usize, |last, &start| last.max(start));
    let (reach_of_all, rows_of_all) = (furthest[0] + last_line + reach, furthest[1] + 1);
    let mut walk = Walk::new(product);
    'taps: while let Some((offset, row, taps)) = walk.step(product) {
        let (Some(data), Some(panel)) = (product.data.get(offset..), panel.get(row..)) else {
            break;
        };
        if checked_once && (data.len() < reach_of_all || panel.len() < rows_of_all) {
            break;
        }
        for tap in taps {
            // No closures: functions that were compiled for other processors would call them.
            let count = if MANY { tap.count as usize } else { 1 };
            let (padding, row) = (tap.padding, tap.row as usize);
            let rows = match checked_once {
                // SAFETY: no tap has a row behind the last, which the panel has.
                true => unsafe { panel.get_unchecked(row..row + 1) },
                false => match panel.get(row..row + count) {
                    Some(rows) => rows,
                    None => break 'taps,
                },
            };
            // Planes are as long as windows reach. One length for all, so that it is checked once.
            let seen = (count - 1) * product.step + reach;
            let mut lines: [&[f32]; LINES] = [&[]; LINES];
            for i in 0..LINES {
                let start = tap.offset as usize + if LINES > 1 { starts[i] } else { 0 };
                lines[i] = match checked_once {
                    // SAFETY: no tap and no line starts further than the data reaches.
                    true => unsafe { data.get_unchecked(start..start + reach) },
                    false => match data.get(start..start + seen) {
                        Some(line) => line,
                        None => break 'taps,
                    },
                };
            }
            let mut at = 0;
            // Most often there are many products without padding, whose loop has no conditions.
            if MANY && padding.lines | padding.columns == 0 {
                for row in rows {
                    let row = registers(row);
                    for i in 0..LINES {
                        let Some(windows) = lines[i].get(at..at + reach) else {
                            break 'taps;
                        };
                        for j in 0..WIDTH {
                            let window = _mm512_set1_ps(windows[j * STEP]);
                            for v in 0..VECTORS {
                                sums[i][j][v] = _mm512_fmadd_ps(window, row[v], sums[i][j][v]);
                            }
                        }
                    }
                    at += product.step;
                }
                continue;
            }
            for row in rows {
                let row = registers(row);
                // Sums stay in registers if their indices are constants once loops are unrolled.
                for i in 0..LINES {
                    // Where a tile has one line, no product of it is in the padding as a whole.
                    if LINES > 1 && padding.lines >> i & 1 != 0 {
                        continue;
                    }
                    let Some(windows) = lines[i].get(at..at + reach) else {
                        break 'taps;
                    };
                    // The ends apart, whose loops have conditions. Masks instead would take the place of multiply-adds.
                    for j in 0..ends {
                        if padding.columns >> j & 1 == 0 {
                            let window = _mm512_set1_ps(windows[j * STEP]);
                            for v in 0..VECTORS {
                                sums[i][j][v] = _mm512_fmadd_ps(window, row[v], sums[i][j][v]);
                            }
                        }
                    }
                    for j in ends..WIDTH - ends {
                        let window = _mm512_set1_ps(windows[j * STEP]);
                        for v in 0..VECTORS {
                            sums[i][j][v] = _mm512_fmadd_ps(window, row[v], sums[i][j][v]);
                        }
                    }
                    for j in WIDTH - ends.min(WIDTH - ends)..WIDTH {
                        if padding.columns >> (j + 2 * ENDS - WIDTH) & 1 == 0 {
                            let window = _mm512_set1_ps(windows[j * STEP]);
                            for v in 0..VECTORS {
                                sums[i][j][v] = _mm512_fmadd_ps(window, row[v], sums[i][j][v]);
                            }
                        }
                    }
                }
                at += product.step;
            }
        }
    }
    for i in 0..LINES {
        for j in 0..WIDTH {
            for v in 0..VECTORS {
                tile[i][j][v] = bytemuck::cast(sums[i][j][v]);
            }
        }
    }
}

/// A row of the panel in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn registers<const VECTORS: usize>(row: &[[f32; LANES]; VECTORS]) -> [__m512; VECTORS] {
    let mut registers = [_mm512_setzero_ps(); VECTORS];
    for v in 0..VECTORS {
        registers[v] = bytemuck::cast(row[v]);
    }
    registers
}

/// Writes the sums of a tile, or adds them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn write<const VECTORS: usize>(
    tile: &[[[f32; LANES]; VECTORS]],
    add: bool,
    out: &mut [[[f32; LANES]; VECTORS]],
) {
    let (out, sums) = (
        out.as_flattened_mut().as_flattened_mut(),
        tile.as_flattened().as_flattened(),
    );
    match add {
        true => zip_mut(out, sums).for_each(|(out, &sum)| *out += sum),
        false => out[..sums.len()].copy_from_slice(sums),
    }
}
