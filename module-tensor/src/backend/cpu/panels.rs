//! Products with a matrix that is used again and again: it is laid out once in the order in which the
//! loop reads it.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::float::Float;
use super::memory::filled;
use super::simd::{Loop, run_at_best_level};
use crate::Result;
use crate::zip::{zip, zip_mut};

/// The number of columns that are summed side by side.
const WIDE: usize = 16;

/// The maximum number of rows that are summed at once.
const TALL: usize = 6;

/// A matrix `[depth, width]`, laid out as panels of some columns, with zeros behind the last.
pub(super) struct Panels<T> {
    data: Vec<T>,
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
            for (c, column) in columns.enumerate() {
                let column = &matrix[column * depth..][..depth];
                for (line, &v) in zip_mut(panel, column) {
                    line[c] = v;
                }
            }
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
        let panels = self;
        run_at_best_level(Product { panels, a, out });
    }
}

struct Product<'a, T> {
    panels: &'a Panels<T>,
    a: &'a [T],
    out: &'a mut [T],
}

impl<T: Float> Loop for Product<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { panels, a, out } = self;
        let (depth, width) = (panels.depth, panels.width);
        if depth == 0 || width == 0 {
            return;
        }
        let rows = (a.len() / depth).min(out.len() / width);
        // Rows of about one number in every tile, the elements of a column side by side.
        let mut tiles = Vec::with_capacity(rows * depth);
        let mut left = rows;
        while left > 0 {
            let tall = tall(left);
            let first = &a[(rows - left) * depth..][..tall * depth];
            match tall {
                1 => tiles.extend_from_slice(first),
                _ => (0..depth)
                    .for_each(|p| tiles.extend((0..tall).map(|row| first[row * depth + p]))),
            }
            left -= tall;
        }
        for (i, panel) in panels.data.chunks_exact(depth * WIDE).enumerate() {
            let panel = panel.as_chunks().0;
            let columns = i * WIDE..width.min((i + 1) * WIDE);
            let mut left = rows;
            while left > 0 {
                let (tall, start) = (tall(left), rows - left);
                let a = &tiles[start * depth..][..tall * depth];
                let out = &mut out[start * width..][..tall * width];
                match tall {
                    1 => tile::<T, 1>(panel, a, out, width, &columns),
                    2 => tile::<T, 2>(panel, a, out, width, &columns),
                    3 => tile::<T, 3>(panel, a, out, width, &columns),
                    4 => tile::<T, 4>(panel, a, out, width, &columns),
                    5 => tile::<T, 5>(panel, a, out, width, &columns),
                    _ => tile::<T, TALL>(panel, a, out, width, &columns),
                }
                left -= tall;
            }
        }
    }
}

/// The number of rows of the next tile, if `rows` are left.
#[inline(always)]
fn tall(rows: usize) -> usize {
    rows.div_ceil(rows.div_ceil(TALL))
}

/// Some rows of `out` in some of their columns: as many sums as the processor has room for.
#[inline(always)]
fn tile<T: Float, const ROWS: usize>(
    panel: &[[T; WIDE]],
    a: &[T],
    out: &mut [T],
    width: usize,
    columns: &std::ops::Range<usize>,
) {
    let mut sums = [[T::zero(); WIDE]; ROWS];
    for (line, factors) in zip(panel, a.as_chunks::<ROWS>().0) {
        for (sums, factor) in zip_mut(&mut sums, factors) {
            for (sum, &v) in zip_mut(sums, line) {
                *sum = factor.times_plus(v, *sum);
            }
        }
    }
    for (out, sums) in out.chunks_exact_mut(width).zip(sums) {
        let out = &mut out[columns.clone()];
        match <&mut [T; WIDE]>::try_from(&mut *out) {
            Ok(out) => add(out, sums),
            Err(_) => add(out, sums),
        }
    }
}

#[inline(always)]
fn add<T: Float>(out: &mut [T], sums: [T; WIDE]) {
    for (out, &sum) in zip_mut(out, &sums) {
        *out = out.plus(sum);
    }
}
