//! Tiles of the gradient of kernels whose lines have three columns, for the registers of AVX-512.

#[cfg(target_arch = "x86_64")]
use super::window_tile::{Tap, tile_f32, tile_f64, write};
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

/// Numbers of one type, and how many are in a register.
macro_rules! line_tile {
    ($type:ident, $lanes:literal, $avx512:ident, $lines:ident, $register:ident, $zero:ident, $all:ident, $fused:ident) => {
        impl LineTile for $type {
            fn line_tile<const LINES: usize>(
                level: Level,
                product: &WindowProduct<'_, Self>,
                sums: &mut [Self],
            ) {
                #[cfg(target_arch = "x86_64")]
                if level.0 == super::Instructions::Avx512 {
                    let mut tile = [[[[0.0; $lanes]; 1]; LINE]; LINES];
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
                            unsafe { $lines::<LINES>(&part, &mut tile) };
                        } else {
                            // SAFETY: as above.
                            unsafe { $avx512::<1, LINES, LINE, 1, true>(&part, &mut tile) };
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

        /// Adds products of whole lines.
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        #[allow(clippy::needless_range_loop)]
        fn $lines<const LINES: usize>(
            product: &WindowProduct<'_, $type>,
            tile: &mut [[[[$type; $lanes]; 1]; LINE]; LINES],
        ) {
            use std::arch::x86_64::{$all, $fused, $register, $zero};
            let Some(starts) = product.lines.first_chunk::<LINES>() else {
                return;
            };
            let mut sums = [[$zero(); LINE]; LINES];
            for i in 0..LINES {
                for j in 0..LINE {
                    sums[i][j] = bytemuck::cast(tile[i][j][0]);
                }
            }
            let panel: &[[$type; $lanes]] = product.panel.as_chunks().0;
            'taps: for tap in product.taps {
                let (row, count) = (tap.row as usize, tap.count as usize);
                let Some(rows) = panel.get(row..row + count) else {
                    break;
                };
                // One length for all, so that it is checked once.
                let mut lines: [&[$type]; LINES] = [&[]; LINES];
                for i in 0..LINES {
                    let start = tap.offset as usize + starts[i];
                    let Some(line) = product.data.get(start..start + count + LINE - 1) else {
                        break 'taps;
                    };
                    lines[i] = line;
                }
                let (Some(&[first, second]), Some(&[next, last])) =
                    (rows.first_chunk(), rows.last_chunk())
                else {
                    break;
                };
                let ends =
                    [first, second, next, last].map(|row| bytemuck::cast::<_, $register>(row));
                // The columns begin one after the other.
                for i in 0..LINES {
                    let Some(elements) = lines[i].first_chunk::<2>() else {
                        break 'taps;
                    };
                    let [zeroth, first] = [$all(elements[0]), $all(elements[1])];
                    sums[i][0] = $fused(zeroth, ends[0], sums[i][0]);
                    sums[i][0] = $fused(first, ends[1], sums[i][0]);
                    sums[i][1] = $fused(first, ends[0], sums[i][1]);
                }
                for at in 2..count {
                    let Some(rows) = rows.get(at - 2..=at) else {
                        break 'taps;
                    };
                    let [last, middle, first] =
                        [rows[0], rows[1], rows[2]].map(|row| bytemuck::cast::<_, $register>(row));
                    for i in 0..LINES {
                        let Some(&element) = lines[i].get(at) else {
                            break 'taps;
                        };
                        let element = $all(element);
                        sums[i][0] = $fused(element, first, sums[i][0]);
                        sums[i][1] = $fused(element, middle, sums[i][1]);
                        sums[i][2] = $fused(element, last, sums[i][2]);
                    }
                }
                for i in 0..LINES {
                    let Some(elements) = lines[i].last_chunk::<2>() else {
                        break 'taps;
                    };
                    let [first, second] = [$all(elements[0]), $all(elements[1])];
                    sums[i][1] = $fused(first, ends[3], sums[i][1]);
                    sums[i][2] = $fused(first, ends[2], sums[i][2]);
                    sums[i][2] = $fused(second, ends[3], sums[i][2]);
                }
            }
            for i in 0..LINES {
                for j in 0..LINE {
                    tile[i][j][0] = bytemuck::cast(sums[i][j]);
                }
            }
        }
    };
}

avx512_numbers!(line_tile);

/// Whether the products of a tap skip nothing, and are those of neighbors in a line of some length.
#[cfg(target_arch = "x86_64")]
fn is_whole_line(tap: &Tap, step: usize) -> bool {
    step == 1 && tap.padding.lines | tap.padding.columns == 0 && tap.count as usize >= LINE
}
