//! Products of matrices of floating-point numbers.
//!
//! `out = a · b` is computed in tiles of a few rows of `a` by a few columns of `b`, whose sums stay in
//! registers. Rows of `a` are read where they lie if they are contiguous; columns of `b` are packed into
//! panels first, a block of them at a time, so that they stay in the caches. Where the transposed product
//! `bᵀ · aᵀ` has less to copy, that is computed, and its tiles are written transposed.
//!
//! Every element of the product is `Σ` over blocks of [`DEPTH`] of fused multiply-adds in the order of the
//! inner dimension, wherever it stands: neither the number of threads, nor the sizes of the tiles, nor the
//! rows and columns beside it change its bits.

mod pack;
#[cfg(test)]
mod tests;
mod tile;

use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut2, Axis, CowArray, Ix2};

use super::float::Float;
use super::simd::Level;
use super::threads::{Cut, divide};
use pack::{Factor, Panels, Rows, has_rows};
use tile::Block;
pub(super) use tile::Tile;

/// How much of the inner dimension is multiplied at a time: a panel of so many rows lies in the first cache.
const DEPTH: usize = 256;

/// How many columns are packed at a time: with [`DEPTH`] rows they lie in the second cache.
const WIDTH: usize = 512;

/// `out = scale · a · b`, added to what `out` holds if `add`.
///
/// The rows of `out` are contiguous.
pub(super) fn multiply<T: Float>(
    scale: T,
    a: &ArrayView2<'_, T>,
    b: &ArrayView2<'_, T>,
    add: bool,
    out: ArrayViewMut2<'_, T>,
) {
    multiply_at(Level::highest(), scale, a, b, add, out);
}

fn multiply_at<T: Float>(
    level: Level,
    scale: T,
    a: &ArrayView2<'_, T>,
    b: &ArrayView2<'_, T>,
    add: bool,
    mut out: ArrayViewMut2<'_, T>,
) {
    let rows = out
        .axis_iter_mut(Axis(0))
        .filter_map(|row| row.into_slice());
    let mut out: Vec<&mut [T]> = rows.collect();
    debug_assert_eq!(out.len(), a.nrows());
    if a.ncols() == 0 {
        if !add {
            out.iter_mut().for_each(|row| row.fill(T::zero()));
        }
        return;
    }
    let (a, b) = (with_lines(a), with_lines(b));
    let transposed = is_better_transposed::<T>(level, &a.view(), &b.view());
    let (left, right) = match transposed {
        false => (a.view(), b.view()),
        true => (b.t(), a.t()),
    };
    let product = Product {
        level,
        scale,
        left: Factor::new(&left),
        right: Factor::new(&right),
        add,
        transposed,
    };
    product.divide(out);
}

/// The factor, copied if neither its rows nor its columns are contiguous.
fn with_lines<'a, T: Float>(x: &'a ArrayView2<'_, T>) -> CowArray<'a, T, Ix2> {
    let has_lines = x.is_empty() || x.iter().len() == 1 || x.strides().contains(&1);
    match has_lines {
        true => x.view().into(),
        false => x.to_owned().into(),
    }
}

/// Whether `bᵀ · aᵀ` takes less time, from what there is to multiply, to copy and to write.
fn is_better_transposed<T: Float>(
    level: Level,
    a: &ArrayView2<'_, T>,
    b: &ArrayView2<'_, T>,
) -> bool {
    let time = |left: &ArrayView2<'_, T>, right: &ArrayView2<'_, T>, transposed: bool| {
        let shape = T::shape(level);
        let (m, k, n) = (left.nrows(), left.ncols(), right.ncols());
        // All in multiply-adds.
        let products = shape.padded_rows(m) * n.next_multiple_of(shape.columns) * k;
        let rows = if has_rows(left) { 0 } else { 24 * m * k };
        let panels = if has_rows(right) { 4 } else { 24 } * k * n;
        let writes = m * n * k.div_ceil(DEPTH) * if transposed { 8 } else { 1 };
        products + rows + panels + writes
    };
    time(&b.t(), &a.t(), true) < time(a, b, false)
}

/// A product whose rows are those of `left` and whose columns are those of `right`.
struct Product<'a, T> {
    level: Level,
    scale: T,
    left: Factor<'a, T>,
    right: Factor<'a, T>,
    add: bool,
    /// Whether rows of the product are columns of what it is written to.
    transposed: bool,
}

impl<T: Float> Product<'_, T> {
    /// Shares the longer side among threads, whole tiles to each.
    fn divide(&self, out: Vec<&mut [T]>) {
        let shape = T::shape(self.level);
        let (m, k, n) = (self.left.rows, self.left.columns, self.right.columns);
        // Columns are packed by each thread that reads them.
        let by_rows = m >= n;
        let (items, len, other) = match by_rows {
            true => (shape.rows, m, n),
            false => (shape.columns, n, m),
        };
        let part = Part {
            out,
            items,
            by_outer: by_rows != self.transposed,
        };
        // About 32 products are added in a nanosecond.
        let steps = (items * k).saturating_mul(other) / 32;
        let done = divide(len.div_ceil(items), steps, part, &|range, mut part| {
            let range = range.start * items..(range.end * items).min(len);
            let (rows, columns) = match by_rows {
                true => (range, 0..n),
                false => (0..m, range),
            };
            self.run(rows, columns, &mut part.out);
            Ok(())
        });
        // The work above does not fail.
        debug_assert!(done.is_ok());
    }

    /// Some rows and columns, written to those of `out`, which has no others.
    fn run(&self, rows: Range<usize>, columns: Range<usize>, out: &mut [&mut [T]]) {
        let mut left = Rows::default();
        let mut right = Panels::new(T::shape(self.level).columns);
        let depth = self.left.columns;
        for from in (0..depth).step_by(DEPTH) {
            let inner = from..depth.min(from + DEPTH);
            let left = left.read(&self.left, rows.clone(), inner.clone());
            for first in columns.clone().step_by(WIDTH) {
                let block = first..columns.end.min(first + WIDTH);
                self.level.run(Block {
                    left: &left,
                    right: right.pack(&self.right, inner.clone(), block.clone()),
                    depth: inner.len(),
                    scale: self.scale,
                    add: self.add || from > 0,
                    transposed: self.transposed,
                    columns: first - columns.start..block.end - columns.start,
                    out,
                });
            }
        }
    }
}

/// The rows of a result, cut along either side.
struct Part<'a, T> {
    out: Vec<&'a mut [T]>,
    /// How many rows or columns are one item.
    items: usize,
    /// Whether whole rows are cut off, and not columns of all rows.
    by_outer: bool,
}

impl<T: Send> Cut for Part<'_, T> {
    fn cut(mut self, items: usize) -> (Self, Self) {
        let at = items * self.items;
        let (items, by_outer) = (self.items, self.by_outer);
        let rest = match by_outer {
            true => self.out.split_off(at.min(self.out.len())),
            false => {
                let mut rest = Vec::with_capacity(self.out.len());
                for row in &mut self.out {
                    let at = at.min(row.len());
                    let (first, others) = std::mem::take(row).split_at_mut(at);
                    *row = first;
                    rest.push(others);
                }
                rest
            }
        };
        let rest = Part {
            out: rest,
            items,
            by_outer,
        };
        (self, rest)
    }
}
