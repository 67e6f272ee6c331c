//! Tiles of the gradient of kernels whose lines have three columns, for the registers of AVX-512.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_mm512_fmadd_ps, _mm512_set1_ps, _mm512_setzero_ps};

#[cfg(target_arch = "x86_64")]
use super::window_product::{LANES, Tap};
#[cfg(target_arch = "x86_64")]
use super::window_tile::{registers, tile_f32, write};
use super::{Level, WindowProduct, WindowTile};

/// The columns of a line.
const LINE: usize = 3;

/// Numbers whose products have such tiles.
pub(crate) trait LineTile: WindowTile {
    /// A [`window_tile`](WindowTile::window_tile) with one register, lines of three columns and taps of many products of one
    /// channel. Each element of the data is read once for its products with three rows.
    fn line_tile<const LINES: usize>(
        level: Level,
        product: &WindowProduct<'_, Self>,
        sums: &mut [Self],
    );
}

impl LineTile for f32 {
    fn line_tile<const LINES: usize>(
        level: Level,
        product: &WindowProduct<'_, Self>,
        sums: &mut [Self],
    ) {
        #[cfg(target_arch = "x86_64")]
        if level.0 == super::Instructions::Avx512 {
            let mut tile = [[[[0.0; LANES]; 1]; LINE]; LINES];
            let is_whole = |tap: &Tap| is_whole_line(tap, product.step);
            let taps = &product.taps[product.first..][..product.count];
            for taps in taps.chunk_by(|a, b| is_whole(a) == is_whole(b)) {
                let part = WindowProduct {
                    taps,
                    first: 0,
                    count: taps.len(),
                    ..*product
                };
                if is_whole(&taps[0]) {
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    unsafe { add_lines::<LINES>(&part, &mut tile) };
                } else {
                    // SAFETY: as above.
                    unsafe { tile_f32::<1, LINES, LINE, 1, true>(&part, &mut tile) };
                }
            }
            write(
                tile.as_flattened(),
                product.add,
                sums.as_chunks_mut().0.as_chunks_mut().0,
            );
            return;
        }
        Self::window_tile::<1, LINES, LINE, 1, true>(level, product, sums);
    }
}

impl LineTile for f64 {
    fn line_tile<const LINES: usize>(
        level: Level,
        product: &WindowProduct<'_, Self>,
        sums: &mut [Self],
    ) {
        Self::window_tile::<1, LINES, LINE, 1, true>(level, product, sums);
    }
}

/// Adds products of whole lines.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
#[allow(clippy::needless_range_loop)]
fn add_lines<const LINES: usize>(
    product: &WindowProduct<'_, f32>,
    tile: &mut [[[[f32; LANES]; 1]; LINE]; LINES],
) {
    let Some(starts) = product.lines.first_chunk::<LINES>() else {
        return;
    };
    let mut sums = [[_mm512_setzero_ps(); LINE]; LINES];
    for i in 0..LINES {
        for j in 0..LINE {
            sums[i][j] = bytemuck::cast(tile[i][j][0]);
        }
    }
    let panel: &[[f32; LANES]] = product.panel.as_chunks().0;
    'taps: for tap in product.taps {
        let (row, count) = (tap.row as usize, tap.count as usize);
        let Some(rows) = panel.get(row..row + count) else {
            break;
        };
        // One length for all, so that it is checked once.
        let mut lines: [&[f32]; LINES] = [&[]; LINES];
        for i in 0..LINES {
            let start = tap.offset as usize + starts[i];
            let Some(line) = product.data.get(start..start + count + LINE - 1) else {
                break 'taps;
            };
            lines[i] = line;
        }
        let (Some(&[first, second]), Some(&[next, last])) = (rows.first_chunk(), rows.last_chunk())
        else {
            break;
        };
        let ends = registers(&[first, second, next, last]);
        // The columns begin one after the other.
        for i in 0..LINES {
            let Some(elements) = lines[i].first_chunk::<2>() else {
                break 'taps;
            };
            let [zeroth, first] = [_mm512_set1_ps(elements[0]), _mm512_set1_ps(elements[1])];
            sums[i][0] = _mm512_fmadd_ps(zeroth, ends[0], sums[i][0]);
            sums[i][0] = _mm512_fmadd_ps(first, ends[1], sums[i][0]);
            sums[i][1] = _mm512_fmadd_ps(first, ends[0], sums[i][1]);
        }
        for at in 2..count {
            let Some(rows) = rows.get(at - 2..=at) else {
                break 'taps;
            };
            let [last, middle, first] = registers(&[rows[0], rows[1], rows[2]]);
            for i in 0..LINES {
                let Some(&element) = lines[i].get(at) else {
                    break 'taps;
                };
                let element = _mm512_set1_ps(element);
                sums[i][0] = _mm512_fmadd_ps(element, first, sums[i][0]);
                sums[i][1] = _mm512_fmadd_ps(element, middle, sums[i][1]);
                sums[i][2] = _mm512_fmadd_ps(element, last, sums[i][2]);
            }
        }
        for i in 0..LINES {
            let Some(elements) = lines[i].last_chunk::<2>() else {
                break 'taps;
            };
            let [first, second] = [_mm512_set1_ps(elements[0]), _mm512_set1_ps(elements[1])];
            sums[i][1] = _mm512_fmadd_ps(first, ends[3], sums[i][1]);
            sums[i][2] = _mm512_fmadd_ps(first, ends[2], sums[i][2]);
            sums[i][2] = _mm512_fmadd_ps(second, ends[3], sums[i][2]);
        }
    }
    for i in 0..LINES {
        for j in 0..LINE {
            tile[i][j][0] = bytemuck::cast(sums[i][j]);
        }
    }
}

/// Whether the products of a tap skip nothing, and are those of neighbors in a line of some length.
#[cfg(target_arch = "x86_64")]
fn is_whole_line(tap: &Tap, step: usize) -> bool {
    step == 1 && tap.padding.lines | tap.padding.columns == 0 && tap.count as usize >= LINE
}
