//! Tiles of a product with windows, which are read where they lie, for the registers of AVX-512.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::{BASELINE_HAS_FMA, Level, Leveled};
use crate::zip::zip_mut;

/// One product of every element of a tile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tap {
    /// Where the data has the factor of the tile's first row.
    pub(crate) offset: u32,
    /// The row of the panel.
    pub(crate) row: u32,
    /// The rows of the tile that skip this product, because their factor would be padding.
    pub(crate) padding: Padding,
}

/// The lines and columns of a tile that lie in the padding of a map, whose elements are zero.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Padding {
    /// The first line and the last.
    pub(crate) lines: [bool; 2],
    /// The first column and the last.
    pub(crate) columns: [bool; 2],
}

/// A factor of a product, whose elements lie at the offsets of taps, and the other, a panel.
///
/// The taps are repeated for each channel.
pub(crate) struct WindowProduct<'a, T> {
    pub(crate) data: &'a [T],
    pub(crate) taps: &'a [Tap],
    /// The tap of the first product, and the number of products.
    pub(crate) first: usize,
    pub(crate) count: usize,
    /// The elements of the data, and the rows of the panel, from one channel to the next.
    pub(crate) channel_steps: [usize; 2],
    /// The elements of the data from one line of the tile to the next.
    pub(crate) line_step: usize,
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

    /// Writes `Σ data[offset + line · line_step + column] · panel[row]`, by fused multiply-adds in the order of the
    /// taps, to row `line · WIDTH + column` of `sums`. Rows of sums and panel have `VECTORS · LANES` elements.
    fn window_tile<const VECTORS: usize, const LINES: usize, const WIDTH: usize>(
        level: Level,
        product: &WindowProduct<'_, Self>,
        sums: &mut [Self],
    );
}

/// Walks through taps, channel after channel.
struct Walk {
    next: usize,
    offset: usize,
    row: usize,
}

impl Walk {
    #[inline(always)]
    fn step<T>(&mut self, product: &WindowProduct<'_, T>) -> Option<(usize, usize, Padding)> {
        let tap = product.taps.get(self.next)?;
        let at = (
            self.offset + tap.offset as usize,
            self.row + tap.row as usize,
            tap.padding,
        );
        self.next += 1;
        if self.next == product.taps.len() {
            self.next = 0;
            self.offset += product.channel_steps[0];
            self.row += product.channel_steps[1];
        }
        Some(at)
    }
}

impl<T> WindowProduct<'_, T> {
    #[inline(always)]
    fn walk(&self) -> Walk {
        Walk {
            next: self.first,
            offset: 0,
            row: 0,
        }
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

            fn window_tile<const VECTORS: usize, const LINES: usize, const WIDTH: usize>(
                level: Level,
                product: &WindowProduct<'_, Self>,
                sums: &mut [Self],
            ) {
                let sums: &mut [[[$type; $lanes]; VECTORS]] =
                    sums.as_chunks_mut().0.as_chunks_mut().0;
                #[cfg(target_arch = "x86_64")]
                if level.0 == super::Instructions::Avx512 {
                    // SAFETY: a level is only made where the processor has what the function was compiled for.
                    unsafe { $avx512::<VECTORS, LINES, WIDTH>(product, sums) };
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
        #[allow(clippy::needless_range_loop)]
        fn $avx512<const VECTORS: usize, const LINES: usize, const WIDTH: usize>(
            product: &WindowProduct<'_, $type>,
            out: &mut [[[$type; $lanes]; VECTORS]],
        ) {
            use std::arch::x86_64::{$all, $fused, $register, $zero};
            let mut sums = [[[$zero(); VECTORS]; WIDTH]; LINES];
            let panel: &[[[$type; $lanes]; VECTORS]] = product.panel.as_chunks().0.as_chunks().0;
            let mut walk = product.walk();
            for _ in 0..product.count {
                let Some((offset, row, padding)) = walk.step(product) else {
                    break;
                };
                let Some(line) = panel.get(row) else { break };
                let line = line.map(|lanes| bytemuck::cast::<_, $register>(lanes));
                // Sums stay in registers if their indices are constants once loops are unrolled.
                for i in 0..LINES {
                    // Where a tile has one line, no product of it is in the padding as a whole.
                    if LINES > 1
                        && ((i == 0 && padding.lines[0]) || (i == LINES - 1 && padding.lines[1]))
                    {
                        continue;
                    }
                    let windows = product.data.get(offset + i * product.line_step..);
                    // Planes are as long as windows reach.
                    let Some(windows) = windows.and_then(<[$type]>::first_chunk::<WIDTH>) else {
                        continue;
                    };
                    for j in 0..WIDTH {
                        if (j == 0 && padding.columns[0]) || (j == WIDTH - 1 && padding.columns[1])
                        {
                            continue;
                        }
                        let window = $all(windows[j]);
                        for v in 0..VECTORS {
                            sums[i][j][v] = $fused(window, line[v], sums[i][j][v]);
                        }
                    }
                }
            }
            for (line, out) in sums.into_iter().zip(out.chunks_exact_mut(WIDTH)) {
                for (out, sums) in zip_mut(out, &line) {
                    for (out, &sums) in zip_mut(out, sums) {
                        let sums: [$type; $lanes] = bytemuck::cast(sums);
                        match product.add {
                            true => zip_mut(out, &sums).for_each(|(out, sum)| *out += sum),
                            false => *out = sums,
                        }
                    }
                }
            }
        }
    };
}

avx512_numbers!(window_tile);

/// The rows that are summed at a time where there are fewer registers.
const FEW: usize = 3;

/// A tile for fewer registers, with the same bits where there is an instruction for multiply-adds.
struct FewRows<'a, T, F, R, const LANES: usize, const VECTORS: usize> {
    product: &'a WindowProduct<'a, T>,
    width: usize,
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
fn add_rows<T: Copy + Default + std::ops::AddAssign, const LANES: usize, const VECTORS: usize>(
    product: &WindowProduct<'_, T>,
    width: usize,
    out: &mut [[[T; LANES]; VECTORS]],
    fused: impl Fn(T, T, T) -> T,
) {
    let panel: &[[[T; LANES]; VECTORS]] = product.panel.as_chunks().0.as_chunks().0;
    let lines = out.len() / width;
    for (group, out) in out.chunks_mut(FEW).enumerate() {
        let mut sums = [[[T::default(); LANES]; VECTORS]; FEW];
        // What is missing is computed from the last row and not written.
        let place = |i: usize| {
            let row = group * FEW + i.min(out.len() - 1);
            (row / width, row % width)
        };
        let places: [(usize, usize); FEW] = std::array::from_fn(place);
        let mut walk = product.walk();
        for _ in 0..product.count {
            let Some((offset, row, padding)) = walk.step(product) else {
                break;
            };
            let Some(weights) = panel.get(row) else { break };
            for (sums, &(line, column)) in zip_mut(&mut sums, &places) {
                if (padding.lines[0] && line == 0)
                    || (padding.lines[1] && line == lines - 1)
                    || (padding.columns[0] && column == 0)
                    || (padding.columns[1] && column == width - 1)
                {
                    continue;
                }
                let window = product.data[offset + line * product.line_step + column];
                for (sum, &v) in zip_mut(sums.as_flattened_mut(), weights.as_flattened()) {
                    *sum = fused(window, v, *sum);
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
