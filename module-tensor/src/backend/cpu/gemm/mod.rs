//! Products of matrices of floating-point numbers.
//!
//! `out = a · b` is computed in tiles of a few rows of `a` by a few columns of `b`, whose sums stay in
//! registers. Rows of `a` are read where they lie if they are contiguous; columns of `b` are packed into
//! panels first, a block of them at a time, so that they stay in the caches. For tiles of twelve rows, which
//! AVX-512 has registers for, rows are packed too if there are many columns, or if rows would push each other out of the nearest
//! cache. Where
//! the transposed product `bᵀ · aᵀ` has less to copy, that is computed, and its tiles are written transposed. Few
//! rows are multiplied with columns that lie in rows without any copy (`in_place`), and with AVX-512 so are up to some
//! hundreds (`strips`).
//!
//! Every element of the product is `Σ` over blocks of [`DEPTH`] of fused multiply-adds in the order of the
//! inner dimension, wherever it stands: neither the number of threads, nor the sizes of the tiles, nor the
//! rows and columns beside it change its bits.

mod factor;
mod high_tile;
mod in_place;
mod matrix;
mod pack;
mod strips;
#[cfg(test)]
mod tests;
mod tile;

use std::ops::Range;

use super::aligned_vec::Workspace;
use super::simd::Level;
use super::threads::{SplitRows, parallel_for};
pub(super) use factor::Factor;
use high_tile::has_high_tiles;
use matrix::is_aliased;
pub(super) use matrix::{Lines, Matrix, MatrixMut};
pub(super) use pack::panels as pack_panels;
pub(super) use tile::DEPTH;
pub(super) use tile::Tile;
use tile::{Block, Right};

/// The number of columns that are packed at a time: with [`DEPTH`] rows they fit in the second-level cache.
const WIDTH: usize = 256;

/// The number of rows that are processed at a time if they are copied: the copies stay near, and the right factor is packed
/// rarely.
const HEIGHT: usize = 1024;

/// The minimum number of columns for which packing the rows of high tiles pays off.
const MANY_COLUMNS: usize = 256;

/// `out = scale · a · b`, added to what `out` holds if `add`.
pub(super) fn multiply<T: Tile>(
    scale: T,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    add: bool,
    out: MatrixMut<'_, T>,
) {
    multiply_at(Level::highest(), scale, a, b, add, out);
}

/// `out = left · right`, added to what `out` holds if `add`, for factors of which neither is empty.
pub(super) fn multiply_factors<T: Tile>(
    left: &impl Factor<T>,
    right: &impl Factor<T>,
    add: bool,
    out: MatrixMut<'_, T>,
) {
    let product = Product {
        level: Level::highest(),
        scale: T::one(),
        left,
        right,
        add,
        transposed: false,
    };
    product.parallel_for(out.into_rows());
}

/// The number of columns of a panel of a right factor with so many columns.
pub(super) fn panel_width<T: Tile>(columns: usize) -> usize {
    T::shape(Level::highest()).width(columns)
}

fn multiply_at<T: Tile>(
    level: Level,
    scale: T,
    a: Matrix<'_, T>,
    b: Matrix<'_, T>,
    add: bool,
    out: MatrixMut<'_, T>,
) {
    let mut out = out.into_rows();
    if out.is_empty() {
        return;
    }
    if a.columns == 0 {
        if !add {
            out.iter_mut().for_each(|row| row.fill(T::zero()));
        }
        return;
    }
    let (mut a_copy, mut b_copy) = (Vec::new(), Vec::new());
    let (a, b) = (with_lines(a, &mut a_copy), with_lines(b, &mut b_copy));
    let transposed = is_better_transposed(level, &a, &b);
    let (left, right) = if transposed { (b.t(), a.t()) } else { (a, b) };
    let product = Product {
        level,
        scale,
        left: &left,
        right: &right,
        add,
        transposed,
    };
    product.parallel_for(out);
}

/// The factor, copied if neither its rows nor its columns are contiguous.
fn with_lines<'a, T: Tile>(x: Matrix<'a, T>, copy: &'a mut Vec<T>) -> Matrix<'a, T> {
    if x.has_lines() {
        return x;
    }
    copy.reserve_exact(x.rows * x.columns);
    for i in 0..x.rows {
        for j in 0..x.columns {
            copy.push(x.at(i, j));
        }
    }
    Matrix::new(copy, x.rows)
}

/// Whether `bᵀ · aᵀ` takes less time, from what there is to multiply, to copy and to write.
fn is_better_transposed<T: Tile>(level: Level, a: &Matrix<'_, T>, b: &Matrix<'_, T>) -> bool {
    let time = |left: &Matrix<'_, T>, right: &Matrix<'_, T>, transposed: bool| {
        let shape = T::shape(level);
        let (m, k, n) = (left.rows, left.columns, right.columns);
        // All in multiply-adds.
        let products = shape.padded_rows(m) * n.next_multiple_of(shape.width(n)) * k;
        let rows = if left.has_rows() { 0 } else { 12 * m * k };
        let panels = match right.has_rows() {
            true if m <= in_place::MAX_ROWS => 2,
            true => 6,
            false => 12,
        } * k
            * n;
        let writes = m * n * k.div_ceil(DEPTH) * if transposed { 56 } else { 4 };
        products + rows + panels + writes
    };
    time(&b.t(), &a.t(), true) < time(a, b, false)
}

/// Whether rows of the left factor, so many elements apart, are to be packed for high tiles of so many columns.
fn packing_pays_off<T>(row_step: usize, columns: usize) -> bool {
    columns >= MANY_COLUMNS || is_aliased::<T>(row_step)
}

/// Where tiles read the right factor.
#[derive(Clone, Copy)]
enum Place {
    /// In panels, which it is copied to.
    Panels,
    /// In its rows, along them, by few rows of the left factor.
    Rows,
    /// In its rows, some columns at a time.
    Strips,
}

/// A product whose rows are those of `left` and whose columns are those of `right`.
struct Product<'a, T, L, R> {
    level: Level,
    scale: T,
    left: &'a L,
    right: &'a R,
    add: bool,
    /// Whether rows of the product are columns of what it is written to.
    transposed: bool,
}

impl<T: Tile, L: Factor<T>, R: Factor<T>> Product<'_, T, L, R> {
    /// Shares the longer side among threads, whole tiles to each.
    fn parallel_for(&self, out: Vec<&mut [T]>) {
        let shape = T::shape(self.level);
        let (m, k, n) = (self.left.rows(), self.left.columns(), self.right.columns());
        let split = SplitProduct {
            sizes: [m, n],
            tile: [shape.rows, shape.columns],
            transposed: self.transposed,
            depth: k,
            per_ns: 32,
        };
        split.run(out, |rows, columns, out| self.run(rows, columns, out));
    }

    /// Some rows and columns, written to those of `out`, which has no others.
    fn run(&self, all_rows: Range<usize>, all_columns: Range<usize>, out: &mut [&mut [T]]) {
        let [
            mut copied_rows,
            mut packed_rows,
            mut copied_columns,
            mut sums,
        ] = [const { Workspace::new() }; 4];
        let width = T::shape(self.level).width(self.right.columns());
        let at_a_time = self.rows_at_a_time([all_rows.len(), all_columns.len()], width);
        for rows in blocks(all_rows.clone(), at_a_time) {
            let place = self.place_of_right(rows.len(), width);
            let columns_at_a_time = match place {
                Place::Rows => in_place::WIDTH,
                Place::Strips => all_columns.len(),
                Place::Panels => WIDTH,
            };
            for inner in blocks(0..self.left.columns(), DEPTH) {
                let part = [rows.clone(), inner.clone()];
                let left = self.left.lines(self.level, part, &mut copied_rows);
                let sizes = [left.count, left.len];
                let high = has_high_tiles::<T>(self.level, sizes, width);
                let packed = match high && packing_pays_off::<T>(left.step, all_columns.len()) {
                    true => pack::tile_rows(&left, &mut packed_rows),
                    false => &[],
                };
                for columns in blocks(all_columns.clone(), columns_at_a_time) {
                    let part = [inner.clone(), columns.clone()];
                    let copy = &mut copied_columns;
                    self.level.run(Block {
                        level: self.level,
                        left,
                        packed,
                        right: match place {
                            Place::Rows => Right::Rows(self.right.lines(self.level, part, copy)),
                            Place::Strips => {
                                Right::Strips(self.right.lines(self.level, part, copy))
                            }
                            Place::Panels => {
                                Right::Panels(self.right.panels(self.level, part, width, copy))
                            }
                        },
                        width,
                        high,
                        sums: match place {
                            Place::Rows => sums.of(in_place::SUMS),
                            _ => &mut [],
                        },
                        scale: self.scale,
                        add: self.add || inner.start > 0,
                        transposed: self.transposed,
                        rows: range_within(&rows, &all_rows),
                        columns: range_within(&columns, &all_columns),
                        out,
                    });
                }
            }
        }
    }

    /// The number of so many rows that are processed at a time for so many columns: all if none is copied.
    fn rows_at_a_time(&self, [rows, columns]: [usize; 2], width: usize) -> usize {
        let sizes = [rows, self.left.columns()];
        let is_copied = self.left.row_step().is_none_or(|step| {
            packing_pays_off::<T>(step, columns) && has_high_tiles::<T>(self.level, sizes, width)
        });
        if is_copied { HEIGHT } else { rows }
    }

    /// Where the right factor is read by so many rows.
    fn place_of_right(&self, rows: usize, width: usize) -> Place {
        match self.right.row_step() {
            Some(_) if rows <= in_place::MAX_ROWS => Place::Rows,
            Some(step)
                if strips::pay_off::<T>(self.level, [rows, self.left.columns()], width, step) =>
            {
                Place::Strips
            }
            _ => Place::Panels,
        }
    }
}

/// How a product is shared among threads: the longer side, whole tiles to each. The other side is packed by each thread that
/// reads it.
pub(super) struct SplitProduct {
    /// Rows and columns of the product, and of a tile.
    pub(super) sizes: [usize; 2],
    pub(super) tile: [usize; 2],
    /// Whether rows of the product are columns of what it is written to.
    pub(super) transposed: bool,
    /// The terms of each element, and about how many are added in a nanosecond.
    pub(super) depth: usize,
    pub(super) per_ns: usize,
}

impl SplitProduct {
    /// Does the work for some rows and columns, with those of `out`, in each thread.
    pub(super) fn run<T: Send>(
        self,
        out: Vec<&mut [T]>,
        work: impl Fn(Range<usize>, Range<usize>, &mut [&mut [T]]) + Sync,
    ) {
        let [m, n] = self.sizes;
        let by_rows = m >= n;
        let (items, len, other) = match by_rows {
            true => (self.tile[0], m, n),
            false => (self.tile[1], n, m),
        };
        let part = SplitRows {
            rows: out,
            items,
            between_rows: by_rows != self.transposed,
        };
        let item_ns = (items * self.depth).saturating_mul(other) / self.per_ns;
        let done = parallel_for(len.div_ceil(items), item_ns, part, &|range, mut part| {
            let range = range.start * items..(range.end * items).min(len);
            let (rows, columns) = match by_rows {
                true => (range, 0..n),
                false => (0..m, range),
            };
            work(rows, columns, &mut part.rows);
            Ok(())
        });
        // The work above does not fail.
        debug_assert!(done.is_ok());
    }
}

/// Splits a range into ranges of a given length.
pub(super) fn blocks(all: Range<usize>, len: usize) -> impl Iterator<Item = Range<usize>> {
    let end = all.end;
    all.step_by(len)
        .map(move |start| start..end.min(start + len))
}

/// The range of a part relative to the whole.
fn range_within(part: &Range<usize>, whole: &Range<usize>) -> Range<usize> {
    part.start - whole.start..part.end - whole.start
}
