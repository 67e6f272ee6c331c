//! Tiles of a product with windows for fewer registers than those of AVX-512, a few columns at a time.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{_mm256_fmadd_ps, _mm256_set1_ps, _mm256_setzero_ps};

use super::window_product::{ENDS, LANES, Padding, Walk, WindowProduct};
use super::{BASELINE_HAS_FMA, Level, Leveled};
use crate::zip::zip_mut;

/// A tile with the same bits as that for AVX-512 where there is an instruction for multiply-adds: a few neighboring columns of
/// a line and [`LANES`] channels at a time, as many sums as 16 registers of 32 bytes hold.
///
/// Its type has none of the sizes of tiles, so that it is compiled once for all of them.
pub(super) struct FewRows<'a> {
    product: &'a WindowProduct<'a, f32>,
    size: TileSize,
    /// For each row, `vectors` times [`LANES`] channels.
    sums: &'a mut [[f32; LANES]],
}

/// The size of a tile.
#[derive(Clone, Copy)]
pub(super) struct TileSize {
    pub(super) vectors: usize,
    pub(super) lines: usize,
    /// The columns of a line, and how far they are apart in the data.
    pub(super) width: usize,
    pub(super) step: usize,
}

/// The most columns whose sums are in registers at the same time, of [`LANES`] channels.
const MOST_COLUMNS: usize = 6;

impl<'a> FewRows<'a> {
    pub(super) fn run(
        level: Level,
        product: &'a WindowProduct<'a, f32>,
        size: TileSize,
        sums: &'a mut [f32],
    ) {
        let sums = sums.as_chunks_mut().0;
        level.run(Self {
            product,
            size,
            sums: &mut sums[..size.lines * size.width * size.vectors],
        });
    }

    /// `add` makes the sums of some columns, of which there are at most [`MOST_COLUMNS`].
    #[inline(always)]
    fn run_with(self, add: impl Fn(&Columns<'_>, &mut [[f32; LANES]])) {
        let TileSize {
            vectors,
            lines,
            width,
            ..
        } = self.size;
        // As many in each as there can be.
        let groups = width.div_ceil(MOST_COLUMNS);
        let (least, more) = (width / groups, width % groups);
        for (vector, line) in (0..vectors).flat_map(|v| (0..lines).map(move |line| (v, line))) {
            let mut first = 0;
            for group in 0..groups {
                let count = least + usize::from(group < more);
                let mut sums = [[0.0; LANES]; MOST_COLUMNS];
                let sums = &mut sums[..count];
                let columns = Columns {
                    product: self.product,
                    size: self.size,
                    vector,
                    first: Row::new(self.product, [width, self.size.step], line * width + first),
                    ends: std::array::from_fn(|i| match i < count {
                        true => end_bit(first + i, width),
                        false => 0,
                    }),
                };
                add(&columns, sums);
                let out = self.sums[(line * width + first) * vectors + vector..].iter_mut();
                for (out, sums) in out.step_by(vectors).zip(&*sums) {
                    match self.product.add {
                        true => zip_mut(out, sums).for_each(|(out, &sum)| *out += sum),
                        false => *out = *sums,
                    }
                }
                first += count;
            }
        }
    }
}

impl Leveled for FewRows<'_> {
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        self.run_avx2();
    }

    #[inline(always)]
    fn run_avx2(self) {
        #[cfg(target_arch = "x86_64")]
        {
            let are_single = || self.product.taps.iter().all(|tap| tap.count == 1);
            let has_loop = self.size.vectors == 1 && self.size.step == 1 && are_single();
            self.run_with(|columns, sums| {
                // SAFETY: only a processor that has the instructions runs this.
                unsafe {
                    match sums.len() {
                        6 if has_loop => add_avx2::<6>(columns, sums),
                        5 if has_loop => add_avx2::<5>(columns, sums),
                        4 if has_loop => add_avx2::<4>(columns, sums),
                        3 if has_loop => add_avx2::<3>(columns, sums),
                        _ => add_one_by_one_avx2(columns, sums),
                    }
                }
            });
        }
        #[cfg(not(target_arch = "x86_64"))]
        self.run_baseline();
    }

    #[inline(always)]
    fn run_baseline(self) {
        self.run_with(add_one_by_one);
    }
}

/// Neighboring columns of a line of a tile, and [`LANES`] of its channels.
struct Columns<'a> {
    product: &'a WindowProduct<'a, f32>,
    size: TileSize,
    vector: usize,
    first: Row,
    /// The bit of each of them among the [columns that may be padding](Padding::columns), if it has one.
    ends: [u32; MOST_COLUMNS],
}

#[cfg(target_arch = "x86_64")]
impl Columns<'_> {
    /// Whether some of them are padding.
    fn has(&self, padding: Padding) -> bool {
        let ends = self.ends.iter().fold(0, |all, end| all | end);
        padding.lines >> self.first.line & 1 != 0 || padding.columns & ends != 0
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
        Self {
            start: product.lines[line] + column * step,
            line,
            end: end_bit(column, width),
        }
    }

    #[inline(always)]
    pub(super) fn is_in(self, padding: Padding) -> bool {
        padding.lines >> self.line & 1 != 0 || padding.columns & self.end != 0
    }
}

/// The bit of a column among the [columns that may be padding](Padding::columns), if it has one.
#[inline(always)]
fn end_bit(column: usize, width: usize) -> u32 {
    let from_end = (column + 2 * ENDS).checked_sub(width);
    match from_end.filter(|&bit| bit >= ENDS) {
        _ if column < ENDS => 1 << column,
        Some(bit) => 1 << bit,
        None => 0,
    }
}

fn add_one_by_one(columns: &Columns<'_>, sums: &mut [[f32; LANES]]) {
    add_each(columns, sums, |a, b, sum| match BASELINE_HAS_FMA {
        true => a.mul_add(b, sum),
        false => a * b + sum,
    });
}

/// The same with multiply-adds.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn add_one_by_one_avx2(columns: &Columns<'_>, sums: &mut [[f32; LANES]]) {
    add_each(columns, sums, |a, b, sum| a.mul_add(b, sum));
}

#[inline(always)]
fn add_each(
    columns: &Columns<'_>,
    sums: &mut [[f32; LANES]],
    multiply_add: impl Fn(f32, f32, f32) -> f32,
) {
    let Columns { product, size, .. } = *columns;
    let panel: &[[f32; LANES]] = product.panel.as_chunks().0;
    for (i, sums) in sums.iter_mut().enumerate() {
        let row = Row {
            start: columns.first.start + i * size.step,
            end: columns.ends[i],
            ..columns.first
        };
        // A copy, which stays in registers.
        let mut own = *sums;
        let mut walk = Walk::new(product);
        while let Some((offset, first, taps)) = walk.step(product) {
            for tap in taps {
                if row.is_in(tap.padding) {
                    continue;
                }
                let mut at = offset + tap.offset as usize + row.start;
                let first = (first + tap.row as usize) * size.vectors + columns.vector;
                let panel = panel[first..].iter().step_by(size.vectors);
                for weights in panel.take(tap.count as usize) {
                    let window = product.data[at];
                    for (sum, &v) in zip_mut(&mut own, weights) {
                        *sum = multiply_add(window, v, *sum);
                    }
                    at += product.step;
                }
            }
        }
        *sums = own;
    }
}

/// The same of neighbors in the data, for tiles of one vector and taps of one product, with the sums in registers; the compiler
/// would take elements of several columns for a vector.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[allow(clippy::needless_range_loop)]
fn add_avx2<const COLUMNS: usize>(columns: &Columns<'_>, sums: &mut [[f32; LANES]]) {
    let (product, ends) = (columns.product, columns.ends);
    let panel: &[[f32; LANES]] = product.panel.as_chunks().0;
    // Sums stay in registers if their indices are constants once loops are unrolled.
    let mut own = [[_mm256_setzero_ps(); 2]; COLUMNS];
    let is_padded = product.taps.iter().any(|tap| columns.has(tap.padding));
    let mut walk = Walk::new(product);
    'taps: while let Some((offset, first, taps)) = walk.step(product) {
        let data = product.data.get(offset + columns.first.start..);
        let (Some(data), Some(panel)) = (data, panel.get(first..)) else {
            break;
        };
        for tap in taps {
            let at = tap.offset as usize;
            let windows = data.get(at..at + COLUMNS);
            let (Some(windows), Some(weights)) = (windows, panel.get(tap.row as usize)) else {
                break 'taps;
            };
            let weights: [_; 2] = bytemuck::cast(*weights);
            // Most often nothing is padding.
            if !is_padded {
                for i in 0..COLUMNS {
                    let window = _mm256_set1_ps(windows[i]);
                    for half in 0..2 {
                        own[i][half] = _mm256_fmadd_ps(window, weights[half], own[i][half]);
                    }
                }
            } else if tap.padding.lines >> columns.first.line & 1 == 0 {
                for i in 0..COLUMNS {
                    if tap.padding.columns & ends[i] == 0 {
                        let window = _mm256_set1_ps(windows[i]);
                        for half in 0..2 {
                            own[i][half] = _mm256_fmadd_ps(window, weights[half], own[i][half]);
                        }
                    }
                }
            }
        }
    }
    if let Some(sums) = sums.first_chunk_mut::<COLUMNS>() {
        for i in 0..COLUMNS {
            sums[i] = bytemuck::cast(own[i]);
        }
    }
}
