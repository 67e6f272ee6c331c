//! Tiles of a product with windows, which are read where they lie, for the registers of AVX-512.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::{BASELINE_HAS_FMA, Level, Leveled};
use crate::zip::zip_mut;

/// Products of every element of a tile, most often one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tap {
    /// Where the data has the factor of the tile's first row.
    pub(crate) offset: u32,
    /// The row of the panel.
    pub(crate) row: u32,
    /// The number of products. The next ones are [`step`](WindowProduct::step) elements on in the data, and a row on in
    /// the panel.
    pub(crate) count: u32,
    /// The rows of the tile that skip these products, because their factors would be padding.
    pub(crate) padding: Padding,
}

/// The lines and columns of a tile that lie in the padding of a map, whose elements are zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Padding {
    /// A bit for each line, the lowest for the first.
    pub(crate) lines: u32,
    /// A bit for each column at the ends of a line: the first two, and the last two.
    pub(crate) columns: u32,
}

const ENDS: usize = 2;

/// The columns that can be skipped at each end of a line, which has at least three, in a tile of so many lines: a
/// condition for each takes time.
pub(crate) const fn padded_columns(lines: usize) -> usize {
    match lines {
        1 => ENDS,
        _ => 1,
    }
}

/// A factor of a product, whose elements lie at the offsets of taps, and the other, a panel.
///
/// The taps are repeated for each channel.
pub(crate) struct WindowProduct<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) taps: &'a [Tap],
    /// The first tap, and the number of taps.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The elements of the data from one product of a tap to the next.
    pub(crate) step: usize,
    /// The elements of the data, and the rows of the panel, from one channel to the next.
    pub(crate) channel_steps: [usize; 2],
    /// The elements of the data before each line of the tile.
    pub(crate) lines: &'a [usize],
    pub(crate) panel: &'a [T],
    /// Whether the sums are added to what there is.
    pub(crate) add: bool,
}

/// Numbers whose products have such tiles.
pub(crate) trait WindowTile: Sized {
    /// The numbers of a register.
    const LANES: usize;

    /// Whether the tiles fill the registers of a level; elsewhere they are slower, and have the same bits.
    fn has_window_tiles(level: Level) -> bool;

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

/// Walks through the taps of channel after channel.
struct Walk {
    first: usize,
    left: usize,
    offset: usize,
    row: usize,
}

impl Walk {
    #[inline(always)]
    fn new<T>(product: &WindowProduct<'_, T>) -> Self {
        Self {
            first: product.first,
            left: product.count,
            offset: 0,
            row: 0,
        }
    }

    /// The taps of a channel, and what their offsets and rows count from; nothing after the last.
    #[inline(always)]
    fn step<'a, T>(&mut self, product: &WindowProduct<'a, T>) -> Option<(usize, usize, &'a [Tap])> {
        let taps = product.taps.get(self.first..)?;
        let taps = &taps[..taps.len().min(self.left)];
        if taps.is_empty() {
            return None;
        }
        let at = (self.offset, self.row, taps);
        self.left -= taps.len();
        self.first = 0;
        self.offset += product.channel_steps[0];
        self.row += product.channel_steps[1];
        Some(at)
    }
}

/// Numbers of one type, and how many are in a register.
macro_rules! window_tile {
    ($type:ident, $lanes:literal, $avx512:ident, $few:ident, $register:ident, $zero:ident, $all:ident, $fused:ident) => {
        impl WindowTile for $type {
            const LANES: usize = $lanes;

            fn has_window_tiles(level: Level) -> bool {
                level.pick(super::PerLevel {
                    avx512: true,
                    avx2: false,
                    baseline: false,
                })
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
                let sums: &mut [[[$type; $lanes]; VECTORS]] =
                    sums.as_chunks_mut().0.as_chunks_mut().0;
                #[cfg(target_arch = "x86_64")]
                if level.0 == super::Instructions::Avx512 {
                    let mut tile = [[[[0.0; $lanes]; VECTORS]; WIDTH]; LINES];
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    unsafe { $avx512::<VECTORS, LINES, WIDTH, STEP, MANY>(product, &mut tile) };
                    write(tile.as_flattened(), product.add, sums);
                    return;
                }
                level.run(FewRows {
                    product,
                    size: [WIDTH, STEP],
                    sums: &mut sums[..LINES * WIDTH],
                    fused: |a: $type, b, sum| a.mul_add(b, sum),
                    rounded: |a: $type, b, sum| a * b + sum,
                });
            }
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        #[allow(clippy::needless_range_loop)]
        pub(super) fn $avx512<
            const VECTORS: usize,
            const LINES: usize,
            const WIDTH: usize,
            const STEP: usize,
            const MANY: bool,
        >(
            product: &WindowProduct<'_, $type>,
            tile: &mut [[[[$type; $lanes]; VECTORS]; WIDTH]; LINES],
        ) {
            use std::arch::x86_64::{$all, $fused, $register, $zero};
            let (reach, ends) = const { ((WIDTH - 1) * STEP + 1, padded_columns(LINES)) };
            let mut sums = [[[$zero(); VECTORS]; WIDTH]; LINES];
            for i in 0..LINES {
                for j in 0..WIDTH {
                    for v in 0..VECTORS {
                        sums[i][j][v] = bytemuck::cast(tile[i][j][v]);
                    }
                }
            }
            let panel: &[[[$type; $lanes]; VECTORS]] = product.panel.as_chunks().0.as_chunks().0;
            let Some(starts) = product.lines.first_chunk::<LINES>() else {
                return;
            };
            let mut walk = Walk::new(product);
            'taps: while let Some((offset, row, taps)) = walk.step(product) {
                let (Some(data), Some(panel)) = (product.data.get(offset..), panel.get(row..))
                else {
                    break;
                };
                for tap in taps {
                    // No closures: functions that were compiled for other processors would call them.
                    let count = if MANY { tap.count as usize } else { 1 };
                    let (padding, row) = (tap.padding, tap.row as usize);
                    let Some(rows) = panel.get(row..row + count) else {
                        break 'taps;
                    };
                    // Planes are as long as windows reach. One length for all, so that it is checked once.
                    let seen = (count - 1) * product.step + reach;
                    let mut lines: [&[$type]; LINES] = [&[]; LINES];
                    for i in 0..LINES {
                        let start = tap.offset as usize + if LINES > 1 { starts[i] } else { 0 };
                        let Some(line) = data.get(start..start + seen) else {
                            break 'taps;
                        };
                        lines[i] = line;
                    }
                    let mut at = 0;
                    // Most often there are many products without padding, whose loop has no conditions.
                    if MANY && padding.lines | padding.columns == 0 {
                        for row in rows {
                            let row = row.map(|lanes| bytemuck::cast::<_, $register>(lanes));
                            for i in 0..LINES {
                                let Some(windows) = lines[i].get(at..at + reach) else {
                                    break 'taps;
                                };
                                for j in 0..WIDTH {
                                    let window = $all(windows[j * STEP]);
                                    for v in 0..VECTORS {
                                        sums[i][j][v] = $fused(window, row[v], sums[i][j][v]);
                                    }
                                }
                            }
                            at += product.step;
                        }
                        continue;
                    }
                    for row in rows {
                        let row = row.map(|lanes| bytemuck::cast::<_, $register>(lanes));
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
                                    let window = $all(windows[j * STEP]);
                                    for v in 0..VECTORS {
                                        sums[i][j][v] = $fused(window, row[v], sums[i][j][v]);
                                    }
                                }
                            }
                            for j in ends..WIDTH - ends {
                                let window = $all(windows[j * STEP]);
                                for v in 0..VECTORS {
                                    sums[i][j][v] = $fused(window, row[v], sums[i][j][v]);
                                }
                            }
                            for j in WIDTH - ends.min(WIDTH - ends)..WIDTH {
                                if padding.columns >> (j + 2 * ENDS - WIDTH) & 1 == 0 {
                                    let window = $all(windows[j * STEP]);
                                    for v in 0..VECTORS {
                                        sums[i][j][v] = $fused(window, row[v], sums[i][j][v]);
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
    };
}

avx512_numbers!(window_tile);

/// Writes the sums of a tile, or adds them.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn write<T: Copy + std::ops::AddAssign, const LANES: usize, const VECTORS: usize>(
    tile: &[[[T; LANES]; VECTORS]],
    add: bool,
    out: &mut [[[T; LANES]; VECTORS]],
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

/// The rows that are summed at a time where there are fewer registers.
const FEW: usize = 3;

/// A tile for fewer registers, with the same bits where there is an instruction for multiply-adds.
struct FewRows<'a, T, F, R, const LANES: usize, const VECTORS: usize> {
    product: &'a WindowProduct<'a, T>,
    /// The columns of a line, and how far they are apart in the data.
    size: [usize; 2],
    sums: &'a mut [[[T; LANES]; VECTORS]],
    fused: F,
    rounded: R,
}

impl<T, F, R, const LANES: usize, const VECTORS: usize> Leveled
    for FewRows<'_, T, F, R, LANES, VECTORS>
where
    T: Copy + Default + std::ops::AddAssign,
    F: Fn(T, T, T) -> T,
    R: Fn(T, T, T) -> T,
{
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        add_rows(self.product, self.size, self.sums, self.fused);
    }

    #[inline(always)]
    fn run_avx2(self) {
        add_rows(self.product, self.size, self.sums, self.fused);
    }

    #[inline(always)]
    fn run_baseline(self) {
        match BASELINE_HAS_FMA {
            true => add_rows(self.product, self.size, self.sums, self.fused),
            false => add_rows(self.product, self.size, self.sums, self.rounded),
        }
    }
}

#[inline(always)]
fn add_rows<T: Copy + Default + std::ops::AddAssign, const LANES: usize, const VECTORS: usize>(
    product: &WindowProduct<'_, T>,
    [width, column_step]: [usize; 2],
    out: &mut [[[T; LANES]; VECTORS]],
    fused: impl Fn(T, T, T) -> T,
) {
    let panel: &[[[T; LANES]; VECTORS]] = product.panel.as_chunks().0.as_chunks().0;
    for (group, out) in out.chunks_mut(FEW).enumerate() {
        let mut sums = [[[T::default(); LANES]; VECTORS]; FEW];
        // What is missing is computed from the last row and not written.
        let position = |i: usize| {
            let row = group * FEW + i.min(out.len() - 1);
            (row / width, row % width)
        };
        let positions: [(usize, usize); FEW] = std::array::from_fn(position);
        let mut walk = Walk::new(product);
        while let Some((offset, row, taps)) = walk.step(product) {
            for tap in taps {
                let (offset, row) = (offset + tap.offset as usize, row + tap.row as usize);
                for (i, weights) in panel.iter().skip(row).take(tap.count as usize).enumerate() {
                    for (sums, &(line, column)) in zip_mut(&mut sums, &positions) {
                        let end = match column {
                            0..ENDS => Some(column),
                            _ => (column + 2 * ENDS)
                                .checked_sub(width)
                                .filter(|&end| end >= ENDS),
                        };
                        let is_kept = end.is_none_or(|end| tap.padding.columns >> end & 1 == 0);
                        if tap.padding.lines >> line & 1 != 0 || !is_kept {
                            continue;
                        }
                        let at = offset + i * product.step + product.lines[line];
                        let window = product.data[at + column * column_step];
                        for (sum, &v) in zip_mut(sums.as_flattened_mut(), weights.as_flattened()) {
                            *sum = fused(window, v, *sum);
                        }
                    }
                }
            }
        }
        for (out, sums) in zip_mut(out, &sums) {
            let (out, sums) = (out.as_flattened_mut(), sums.as_flattened());
            match product.add {
                true => zip_mut(out, sums).for_each(|(out, &sum)| *out += sum),
                false => out.copy_from_slice(sums),
            }
        }
    }
}
