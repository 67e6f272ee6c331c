//! Tiles of a product with windows for fewer registers than those of AVX-512, a few rows at a time.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, _mm256_fmadd_ps, _mm256_set1_ps, _mm256_setzero_ps};

use super::window_product::{ENDS, LANES, Padding, Walk, WindowProduct};
use super::{BASELINE_HAS_FMA, Level, Leveled};
use crate::zip::zip_mut;

/// A tile with the same bits as that for AVX-512 where there is an instruction for multiply-adds: `ROWS` rows at a time, as many
/// sums as 16 registers of 32 bytes hold.
///
/// Its type has none of the other sizes of tiles, so that it is compiled once for all of them.
pub(super) struct FewRows<'a, const VECTORS: usize, const ROWS: usize> {
    product: &'a WindowProduct<'a, f32>,
    /// The columns of a line, and how far they are apart in the data.
    size: [usize; 2],
    sums: &'a mut [[[f32; LANES]; VECTORS]],
}

impl<'a, const VECTORS: usize, const ROWS: usize> FewRows<'a, VECTORS, ROWS> {
    pub(super) fn run(
        level: Level,
        product: &'a WindowProduct<'a, f32>,
        [lines, width, step]: [usize; 3],
        sums: &'a mut [f32],
    ) {
        let sums: &mut [[[f32; LANES]; VECTORS]] = sums.as_chunks_mut().0.as_chunks_mut().0;
        level.run(Self {
            product,
            size: [width, step],
            sums: &mut sums[..lines * width],
        });
    }

    /// `add` adds the products of some rows.
    #[inline(always)]
    fn run_with(
        self,
        add: impl Fn(&WindowProduct<'_, f32>, &[Row; ROWS], &mut Sums<VECTORS, ROWS>),
    ) {
        let (product, size) = (self.product, self.size);
        for (group, out) in self.sums.chunks_mut(ROWS).enumerate() {
            // What is missing is computed from the last row and not written.
            let mut rows = [Row::default(); ROWS];
            for (i, row) in rows.iter_mut().enumerate() {
                *row = Row::new(product, size, group * ROWS + i.min(out.len() - 1));
            }
            let mut sums = [[[0.0; LANES]; VECTORS]; ROWS];
            add(product, &rows, &mut sums);
            for (out, sums) in zip_mut(out, &sums) {
                let (out, sums) = (out.as_flattened_mut(), sums.as_flattened());
                match product.add {
                    true => zip_mut(out, sums).for_each(|(out, &sum)| *out += sum),
                    false => out.copy_from_slice(sums),
                }
            }
        }
    }
}

impl<const VECTORS: usize, const ROWS: usize> Leveled for FewRows<'_, VECTORS, ROWS> {
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        self.run_avx2();
    }

    #[inline(always)]
    fn run_avx2(self) {
        // SAFETY: only a processor that has the instructions runs this.
        #[cfg(target_arch = "x86_64")]
        self.run_with(|product, rows, sums| unsafe { add_avx2(product, rows, sums) });
        #[cfg(not(target_arch = "x86_64"))]
        self.run_baseline();
    }

    #[inline(always)]
    fn run_baseline(self) {
        self.run_with(add_one_by_one);
    }
}

/// A row of a tile.
#[derive(Clone, Copy, Default)]
pub(super) struct Row {
    /// The elements of the data before it.
    pub(super) start: usize,
    line: usize,
    /// Its bit among the [columns that may be padding](Padding::columns), if it has one.
    end: u32,
}

impl Row {
    /// A row of a tile with so many columns, which are so far apart in the data.
    #[inline(always)]
    pub(super) fn new<T>(
        product: &WindowProduct<'_, T>,
        [width, step]: [usize; 2],
        row: usize,
    ) -> Self {
        let (line, column) = (row / width, row % width);
        let from_end = (column + 2 * ENDS).checked_sub(width);
        let end = match from_end.filter(|&bit| bit >= ENDS) {
            _ if column < ENDS => 1 << column,
            Some(bit) => 1 << bit,
            None => 0,
        };
        Self {
            start: product.lines[line] + column * step,
            line,
            end,
        }
    }

    #[inline(always)]
    pub(super) fn is_in(self, padding: Padding) -> bool {
        padding.lines >> self.line & 1 != 0 || padding.columns & self.end != 0
    }
}

/// The sums of rows.
type Sums<const VECTORS: usize, const ROWS: usize> = [[[f32; LANES]; VECTORS]; ROWS];

fn add_one_by_one<const VECTORS: usize, const ROWS: usize>(
    product: &WindowProduct<'_, f32>,
    rows: &[Row; ROWS],
    sums: &mut Sums<VECTORS, ROWS>,
) {
    let panel: &[[[f32; LANES]; VECTORS]] = product.panel.as_chunks().0.as_chunks().0;
    for (row, sums) in zip_mut(sums, rows).map(|(sums, row)| (row, sums)) {
        // A copy, which stays in registers.
        let mut own = *sums;
        let mut walk = Walk::new(product);
        while let Some((offset, first, taps)) = walk.step(product) {
            for tap in taps {
                if row.is_in(tap.padding) {
                    continue;
                }
                let mut at = offset + tap.offset as usize + row.start;
                let first = first + tap.row as usize;
                for weights in &panel[first..first + tap.count as usize] {
                    let window = product.data[at];
                    for (sum, &v) in zip_mut(own.as_flattened_mut(), weights.as_flattened()) {
                        *sum = match BASELINE_HAS_FMA {
                            true => window.mul_add(v, *sum),
                            false => window * v + *sum,
                        };
                    }
                    at += product.step;
                }
            }
        }
        *sums = own;
    }
}

/// The same with its sums in registers; the compiler would take elements of several rows for a vector.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[allow(clippy::needless_range_loop)]
fn add_avx2<const VECTORS: usize, const ROWS: usize>(
    product: &WindowProduct<'_, f32>,
    rows: &[Row; ROWS],
    sums: &mut Sums<VECTORS, ROWS>,
) {
    let panel: &[[[f32; LANES]; VECTORS]] = product.panel.as_chunks().0.as_chunks().0;
    let (mut lines, mut ends) = (0, 0);
    for row in rows {
        lines |= 1 << row.line;
        ends |= row.end;
    }
    let mut own = [[[_mm256_setzero_ps(); 2]; VECTORS]; ROWS];
    let mut walk = Walk::new(product);
    while let Some((offset, first, taps)) = walk.step(product) {
        for tap in taps {
            let (mut at, first) = (offset + tap.offset as usize, first + tap.row as usize);
            let is_padded = tap.padding.lines & lines | tap.padding.columns & ends != 0;
            let panel = &panel[first..first + tap.count as usize];
            // Most often nothing is padding. Sums stay in registers if their indices are constants once loops are unrolled.
            if !is_padded {
                for weights in panel {
                    let weights = registers(weights);
                    for i in 0..ROWS {
                        let window = product.data[at + rows[i].start];
                        multiply_add(window, &weights, &mut own[i]);
                    }
                    at += product.step;
                }
                continue;
            }
            for weights in panel {
                let weights = registers(weights);
                for i in 0..ROWS {
                    if !rows[i].is_in(tap.padding) {
                        let window = product.data[at + rows[i].start];
                        multiply_add(window, &weights, &mut own[i]);
                    }
                }
                at += product.step;
            }
        }
    }
    for i in 0..ROWS {
        for v in 0..VECTORS {
            sums[i][v] = bytemuck::cast(own[i][v]);
        }
    }
}

/// The numbers of a row of the panel in registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline]
fn registers<const VECTORS: usize>(row: &[[f32; LANES]; VECTORS]) -> [[__m256; 2]; VECTORS] {
    let mut registers = [[_mm256_setzero_ps(); 2]; VECTORS];
    for v in 0..VECTORS {
        registers[v] = bytemuck::cast(row[v]);
    }
    registers
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline]
fn multiply_add<const VECTORS: usize>(
    window: f32,
    weights: &[[__m256; 2]; VECTORS],
    sums: &mut [[__m256; 2]; VECTORS],
) {
    let window = _mm256_set1_ps(window);
    for v in 0..VECTORS {
        for half in 0..2 {
            sums[v][half] = _mm256_fmadd_ps(window, weights[v][half], sums[v][half]);
        }
    }
}
