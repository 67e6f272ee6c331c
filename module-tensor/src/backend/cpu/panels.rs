//! Products with a matrix that is used again and again: it is laid out once in the order in which the
//! loop reads it.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::aligned_vec::AlignedVec;
use super::float::Float;
use super::memory::filled;
use super::simd::{Level, Leveled, Loop, PANEL, run_at_best_level};
use super::threads::{Items, parallel_for_again};
use super::transpose::columns_of_lines;
use crate::Result;
use crate::zip::zip_mut;

/// The number of columns that are summed side by side.
const WIDE: usize = PANEL;

/// The maximum number of rows that are summed at once: as many sums as there are registers for, or as are added in the steps
/// that a multiply-add takes. AVX-512 has twice the registers.
const TALL: usize = 6;
const TALL_AVX512: usize = 8;

/// The panels that one row is multiplied with side by side, because each product waits for the sum before it.
const SIDE_BY_SIDE: usize = 4;

/// A matrix `[depth, width]`, laid out as panels of some columns, with zeros behind the last.
pub(super) struct Panels<T: Float> {
    data: AlignedVec<T>,
    depth: usize,
    width: usize,
}

impl<T: Float> Panels<T> {
    /// Packs a matrix `[depth, width]`.
    pub(super) fn new(matrix: &[T], depth: usize, width: usize) -> Result<Self> {
        Self::laid_out(depth, width, |panel, columns| {
            for (p, line) in panel.iter_mut().enumerate() {
                let row = &matrix[p * width..][columns.clone()];
                line[..row.len()].copy_from_slice(row);
            }
        })
    }

    /// Packs a matrix `[width, depth]`, transposed.
    pub(super) fn from_transposed(matrix: &[T], depth: usize, width: usize) -> Result<Self> {
        Self::laid_out(depth, width, |panel, columns| {
            let columns = columns.map(|column| &matrix[column * depth..][..depth]);
            columns_of_lines(columns, panel.as_flattened_mut(), WIDE);
        })
    }

    fn laid_out(
        depth: usize,
        width: usize,
        fill: impl Fn(&mut [[T; WIDE]], std::ops::Range<usize>),
    ) -> Result<Self> {
        let panels = width.div_ceil(WIDE);
        let mut data = filled(panels * depth * WIDE, T::zero())?;
        for (i, panel) in data.chunks_exact_mut((depth * WIDE).max(1)).enumerate() {
            let columns = i * WIDE..width.min((i + 1) * WIDE);
            fill(panel.as_chunks_mut().0, columns);
        }
        Ok(Self { data, depth, width })
    }

    /// About how many nanoseconds the product with a row takes.
    pub(super) fn steps(&self) -> usize {
        self.data.len() / 32
    }

    /// `out += a · matrix` for all rows of `a`.
    ///
    /// The bits of a row do not depend on the rows beside it.
    pub(super) fn add(&self, a: &[T], out: &mut [T]) {
        let Self { depth, width, .. } = *self;
        if depth == 0 || width == 0 {
            return;
        }
        let panels = self;
        let rows = (a.len() / depth).min(out.len() / width);
        match rows {
            0 => return,
            1 => {}
            _ => {
                return Level::highest().run(Product {
                    panels,
                    a,
                    out,
                    rows,
                });
            }
        }
        let len = SIDE_BY_SIDE * depth * WIDE;
        let count = self.data.len().div_ceil(len);
        let items = Items(out, SIDE_BY_SIDE * WIDE);
        // Steps of a sequence follow each other.
        let done = parallel_for_again(count, len / 32, items, &|groups, out| {
            run_at_best_level(RowProduct {
                panels: &self.data[groups.start * len..],
                a: &a[..depth],
                out: out.0,
            });
            Ok(())
        });
        // The work above does not fail.
        debug_assert!(done.is_ok());
    }
}

/// The product of one row with panels.
struct RowProduct<'a, T> {
    panels: &'a [T],
    a: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Loop for RowProduct<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { panels, a, out } = self;
        let len = a.len() * WIDE;
        let groups = panels.chunks(SIDE_BY_SIDE * len);
        for (group, out) in groups.zip(out.chunks_mut(SIDE_BY_SIDE * WIDE)) {
            if group.len() == SIDE_BY_SIDE * len {
                row(group.as_chunks().0, a, out);
                continue;
            }
            for (panel, out) in group.chunks_exact(len).zip(out.chunks_mut(WIDE)) {
                let width = out.len();
                tile::<T, 1>(panel.as_chunks().0, a, out, width, &(0..width));
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
}

impl<T: Float> Leveled for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run_avx512(self) {
        self.run::<TALL_AVX512>();
    }

    #[inline(always)]
    fn run_avx2(self) {
        self.run::<TALL>();
    }

    #[inline(always)]
    fn run_baseline(self) {
        self.run::<TALL>();
    }
}

impl<T: Float> Product<'_, T> {
    #[inline(always)]
    fn run<const MOST: usize>(self) {
        let Self {
            panels,
            a,
            out,
            rows,
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
        for (i, pair) in panels.data.chunks(2 * depth * WIDE).enumerate() {
            let pair = pair.as_chunks().0;
            let columns = 2 * i * WIDE..width.min(2 * (i + 1) * WIDE);
            let mut left = rows;
            while left > 0 {
                let (tall, start) = (tall(left, MOST), rows - left);
                let a = &tiles[start * depth..][..tall * depth];
                let out = &mut out[start * width..][..tall * width];
                match tall {
                    2 => tile::<T, 2>(pair, a, out, width, &columns),
                    3 => tile::<T, 3>(pair, a, out, width, &columns),
                    4 => tile::<T, 4>(pair, a, out, width, &columns),
                    5 => tile::<T, 5>(pair, a, out, width, &columns),
                    6 => tile::<T, 6>(pair, a, out, width, &columns),
                    7 if MOST > TALL => tile::<T, 7>(pair, a, out, width, &columns),
                    _ => tile::<T, MOST>(pair, a, out, width, &columns),
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
fn tile<T: Float, const ROWS: usize>(
    panels: &[[T; WIDE]],
    a: &[T],
    out: &mut [T],
    width: usize,
    columns: &std::ops::Range<usize>,
) {
    let factors = a.as_chunks::<ROWS>().0;
    let (first, second) = panels.split_at(factors.len());
    let sums = T::few_rows(Level::highest(), factors, [first, second]);
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
    use super::Panels;

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
            let both = [
                Panels::new(&matrix, depth, width).unwrap(),
                Panels::from_transposed(&turned, depth, width).unwrap(),
            ];
            for rows in [0, 1, 2, 5, 7, 8, 21] {
                let (a, start) = (numbers(rows * depth), numbers(rows * width));
                let element = |i: usize| {
                    let (row, column) = (i / width, i % width);
                    let sum = (0..depth).fold(0.0_f32, |sum, p| {
                        a[row * depth + p].mul_add(matrix[p * width + column], sum)
                    });
                    (start[i] + sum).to_bits()
                };
                for panels in &both {
                    let mut out = start.clone();
                    panels.add(&a, &mut out);
                    let is_same = (0..out.len()).all(|i| out[i].to_bits() == element(i));
                    assert!(is_same, "{rows} rows by [{depth}, {width}]");
                }
            }
        }
    }
}
