//! Products with a matrix that is used again and again: it is laid out once in the order in which the
//! loop reads it.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::aligned_vec::AlignedVec;
use super::float::Float;
use super::memory::{filled, scratch};
use super::simd::{BASELINE_HAS_FMA, Level, Leveled, Loop, PANEL, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::transpose::columns_of_lines;
use crate::Result;
use crate::zip::zip_mut;

/// The number of columns that are summed side by side.
const WIDE: usize = PANEL;

/// The maximum number of rows that are summed at once: as many sums as there are registers for, or as are added in the
/// steps that a multiply-add takes. AVX-512 has twice the registers.
const TALL: usize = 6;
const TALL_AVX512: usize = 8;

/// The same without an instruction for multiply-adds, whose calls take longer than reading what they add.
const TALL_WITHOUT_FMA: usize = 2;

/// The panels that one row is multiplied with side by side, because each product waits for the sum before it.
const SIDE_BY_SIDE: usize = 4;

/// A matrix `[depth, width]`, laid out as panels of some columns, with zeros behind the last.
pub(super) struct Panels<T: Float> {
    data: AlignedVec<T>,
    depth: usize,
    width: usize,
}

/// The order in which a product reads the panels.
///
/// A product that follows on another of the same panels finds those in the cache that were read last, if the cache
/// holds fewer than all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    FirstToLast,
    LastToFirst,
}

impl Order {
    /// The order of a step: every other way.
    pub(super) fn of_step(step: usize) -> Self {
        match step % 2 {
            0 => Self::FirstToLast,
            _ => Self::LastToFirst,
        }
    }

    /// Which of `count` comes at this position.
    #[inline(always)]
    fn at(self, position: usize, count: usize) -> usize {
        match self {
            Self::FirstToLast => position,
            Self::LastToFirst => count - 1 - position,
        }
    }
}

impl<T: Float> Panels<T> {
    /// Packs some columns of a matrix of `depth` rows, each of `pitch` elements.
    pub(super) fn of_columns(
        matrix: &[T],
        [depth, pitch]: [usize; 2],
        columns: Range<usize>,
    ) -> Result<Self> {
        Self::laid_out(depth, columns.len(), |panel, part| {
            let part = columns.start + part.start..columns.start + part.end;
            for (p, line) in panel.iter_mut().enumerate() {
                let row = &matrix[p * pitch..][part.clone()];
                line[..row.len()].copy_from_slice(row);
            }
        })
    }

    /// Packs `width` columns of `depth` elements, each of which is a slice.
    pub(super) fn from_lines<'a>(
        depth: usize,
        width: usize,
        line: impl Fn(usize) -> &'a [T] + Sync,
    ) -> Result<Self>
    where
        T: 'a,
    {
        Self::laid_out(depth, width, |panel, columns| {
            columns_of_lines(columns.map(&line), panel.as_flattened_mut(), WIDE);
        })
    }

    fn laid_out(
        depth: usize,
        width: usize,
        fill: impl Fn(&mut [[T; WIDE]], Range<usize>) + Sync,
    ) -> Result<Self> {
        let panels = width.div_ceil(WIDE);
        let len = panels * depth * WIDE;
        let mut data = match width % WIDE {
            0 => scratch(len)?,
            _ => filled(len, T::zero())?,
        };
        let items = Items(&mut data, depth * WIDE);
        parallel_for(panels, depth * WIDE / 3, items, &|range, data| {
            for (i, panel) in range.zip(data.0.chunks_exact_mut((depth * WIDE).max(1))) {
                let columns = i * WIDE..width.min((i + 1) * WIDE);
                fill(panel.as_chunks_mut().0, columns);
            }
            Ok(())
        })?;
        Ok(Self { data, depth, width })
    }

    /// `out += a · matrix` for all rows of `a`, on this thread.
    ///
    /// The bits of a row depend neither on the rows beside it nor on the order.
    pub(super) fn add(&self, a: &[T], out: &mut [T], order: Order) {
        let Self { depth, width, .. } = *self;
        if depth == 0 || width == 0 {
            return;
        }
        let panels = self;
        match (a.len() / depth).min(out.len() / width) {
            0 => {}
            1 => run_at_best_level(RowProduct {
                panels: &self.data,
                a: &a[..depth],
                out,
                order,
            }),
            rows => Level::highest().run(Product {
                panels,
                a,
                out,
                rows,
                order,
            }),
        }
    }
}

/// The product of one row with panels.
struct RowProduct<'a, T> {
    panels: &'a [T],
    a: &'a [T],
    out: &'a mut [T],
    order: Order,
}

impl<T: Float> Loop for RowProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            panels,
            a,
            out,
            order,
        } = self;
        let len = a.len() * WIDE;
        let group_len = SIDE_BY_SIDE * len;
        let count = panels.len().div_ceil(group_len);
        for position in 0..count {
            let i = order.at(position, count);
            let group = &panels[i * group_len..];
            let out = &mut out[i * SIDE_BY_SIDE * WIDE..];
            if group.len() >= group_len {
                let out_len = out.len().min(SIDE_BY_SIDE * WIDE);
                row(group[..group_len].as_chunks().0, a, &mut out[..out_len]);
                continue;
            }
            for (panel, out) in group.chunks_exact(len).zip(out.chunks_mut(WIDE)) {
                let width = out.len();
                tile::<T, false, 1>(panel.as_chunks().0, a, out, width, &(0..width));
            }
        }
    }
}

/// The product of some rows, more than one.
struct Product<'a, T: Float> {
    panels: &'a Panels<T>,
    a: &'a [T],
    out: &'a mut [T],
    rows: usize,
    order: Order,
}

impl<T: Float> Leveled for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        self.run::<true, TALL_AVX512>();
    }

    #[inline(always)]
    fn run_avx2(self) {
        self.run::<false, TALL>();
    }

    #[inline(always)]
    fn run_baseline(self) {
        match BASELINE_HAS_FMA {
            true => self.run::<false, TALL>(),
            false => self.run::<false, TALL_WITHOUT_FMA>(),
        }
    }
}

impl<T: Float> Product<'_, T> {
    #[inline(always)]
    fn run<const AVX512: bool, const MOST: usize>(self) {
        let Self {
            panels,
            a,
            out,
            rows,
            order,
        } = self;
        let (depth, width) = (panels.depth, panels.width);
        // Rows of about one number in every tile, the elements of a column side by side.
        let mut tiles = vec![T::zero(); rows * depth];
        let mut left = rows;
        while left > 0 {
            let tall = tall(left, MOST);
            let part = (rows - left) * depth..(rows - left + tall) * depth;
            columns_of_lines(a[part.clone()].chunks_exact(depth), &mut tiles[part], tall);
            left -= tall;
        }
        let pair_len = 2 * depth * WIDE;
        let count = panels.data.len().div_ceil(pair_len);
        for position in 0..count {
            let i = order.at(position, count);
            let pair = &panels.data[i * pair_len..panels.data.len().min((i + 1) * pair_len)];
            let pair = pair.as_chunks().0;
            let columns = 2 * i * WIDE..width.min(2 * (i + 1) * WIDE);
            let mut left = rows;
            while left > 0 {
                let (tall, start) = (tall(left, MOST), rows - left);
                let a = &tiles[start * depth..][..tall * depth];
                let out = &mut out[start * width..][..tall * width];
                match tall {
                    1 if MOST < 3 => tile::<T, AVX512, 1>(pair, a, out, width, &columns),
                    2 => tile::<T, AVX512, 2>(pair, a, out, width, &columns),
                    3 if MOST > 3 => tile::<T, AVX512, 3>(pair, a, out, width, &columns),
                    4 if MOST > 4 => tile::<T, AVX512, 4>(pair, a, out, width, &columns),
                    5 if MOST > 5 => tile::<T, AVX512, 5>(pair, a, out, width, &columns),
                    6 if MOST > 6 => tile::<T, AVX512, 6>(pair, a, out, width, &columns),
                    7 if MOST > 7 => tile::<T, AVX512, 7>(pair, a, out, width, &columns),
                    _ => tile::<T, AVX512, MOST>(pair, a, out, width, &columns),
                }
                left -= tall;
            }
        }
    }
}

/// The number of rows of the next tile, if `rows` are left.
#[inline(always)]
fn tall(rows: usize, most: usize) -> usize {
    rows.div_ceil(rows.div_ceil(most))
}

/// One row of `out` in the columns of some panels.
#[inline(always)]
fn row<T: Float>(panels: &[[T; WIDE]], a: &[T], out: &mut [T]) {
    let depth = a.len();
    let panel = |i: usize| &panels[i * depth..][..depth];
    let panels: [_; SIDE_BY_SIDE] = std::array::from_fn(panel);
    // Arrays of their own: the compiler would take one lane of each for a vector.
    let (mut first, mut second) = ([T::zero(); WIDE], [T::zero(); WIDE]);
    let (mut third, mut fourth) = ([T::zero(); WIDE], [T::zero(); WIDE]);
    for (p, &factor) in a.iter().enumerate() {
        let add = |(sum, &v): (&mut T, &T)| *sum = factor.times_plus(v, *sum);
        zip_mut(&mut first, &panels[0][p]).for_each(add);
        zip_mut(&mut second, &panels[1][p]).for_each(add);
        zip_mut(&mut third, &panels[2][p]).for_each(add);
        zip_mut(&mut fourth, &panels[3][p]).for_each(add);
    }
    for (out, sums) in out.chunks_mut(WIDE).zip([first, second, third, fourth]) {
        add(out, sums);
    }
}

/// Some rows of `out` in the columns of one or two panels: as many sums as the processor has room for.
#[inline(always)]
fn tile<T: Float, const AVX512: bool, const ROWS: usize>(
    panels: &[[T; WIDE]],
    a: &[T],
    out: &mut [T],
    width: usize,
    columns: &Range<usize>,
) {
    let factors = a.as_chunks::<ROWS>().0;
    let (first, second) = panels.split_at(factors.len());
    let sums = T::few_rows::<AVX512, _>(Level::highest(), factors, [first, second]);
    for (i, out) in out.chunks_exact_mut(width).enumerate() {
        let parts = out[columns.clone()].chunks_mut(WIDE);
        for (out, sums) in parts.zip(&sums) {
            match <&mut [T; WIDE]>::try_from(&mut *out) {
                Ok(out) => add(out, sums[i]),
                Err(_) => add(out, sums[i]),
            }
        }
    }
}

#[inline(always)]
fn add<T: Float>(out: &mut [T], sums: [T; WIDE]) {
    for (out, &sum) in zip_mut(out, &sums) {
        *out = out.plus(sum);
    }
}

#[cfg(test)]
mod tests {
    use super::{Order, Panels};

    /// Numbers without a pattern.
    fn numbers(len: usize) -> Vec<f32> {
        let number = |i: usize| (i as f64 * 0.618_033_988_749_895).fract() as f32 - 0.4;
        (0..len).map(number).collect()
    }

    #[test]
    fn every_element_is_one_chain_of_sums() {
        let sizes = [(1, 1), (3, 16), (20, 64), (7, 70), (33, 130), (256, 1024)];
        for (depth, width) in sizes {
            let matrix = numbers(depth * width);
            let mut turned = vec![0.0; depth * width];
            for (i, &v) in matrix.iter().enumerate() {
                turned[i % width * depth + i / width] = v;
            }
            let size = [depth, width];
            let all = [
                Panels::of_columns(&matrix, size, 0..width).unwrap(),
                Panels::from_lines(depth, width, |i| &turned[i * depth..][..depth]).unwrap(),
            ];
            let some = width / 3..width - width / 4;
            let some = [(
                Panels::of_columns(&matrix, size, some.clone()).unwrap(),
                some,
            )];
            let all = all.map(|panels| (panels, 0..width));
            for rows in [0, 1, 2, 5, 7, 8, 21] {
                let a = numbers(rows * depth);
                for (panels, columns) in all.iter().chain(&some) {
                    let start = numbers(rows * columns.len());
                    let element = |i: usize| {
                        let (row, column) = (i / columns.len(), columns.start + i % columns.len());
                        let sum = (0..depth).fold(0.0_f32, |sum, p| {
                            a[row * depth + p].mul_add(matrix[p * width + column], sum)
                        });
                        (start[i] + sum).to_bits()
                    };
                    for order in [Order::FirstToLast, Order::LastToFirst] {
                        let mut out = start.clone();
                        panels.add(&a, &mut out, order);
                        let is_same = (0..out.len()).all(|i| out[i].to_bits() == element(i));
                        assert!(
                            is_same,
                            "{rows} rows by [{depth}, {width}], {columns:?}, {order:?}"
                        );
                    }
                }
            }
        }
    }
}
