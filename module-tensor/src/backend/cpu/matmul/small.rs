//! Products so small that preparing the blocks of a fast one costs more than it saves.

use std::ops::Range;

use super::super::number::Number;
use super::super::simd::Loop;
use super::factor::Factor;

/// The sums as they are defined, of some products of a batch, over an `out` that holds what they start from.
pub(super) struct SmallProducts<'a, 'b, T> {
    pub(super) a: &'a Factor<'b, T>,
    pub(super) b: &'a Factor<'b, T>,
    pub(super) batch: Range<usize>,
    pub(super) out: &'a mut [T],
}

/// The numbers of columns whose sums stay in registers.
const WIDE: usize = 8;
const NARROW: usize = 4;

/// From so many rows and columns on, columns that lie apart are copied to rows first.
const MANY: usize = 4;

impl<T: Number> Loop for SmallProducts<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { a, b, batch, out } = self;
        let (m, n) = (a.rows, b.columns);
        let is_copied = b.column_step != 1 && m >= MANY && n >= MANY;
        let mut copy = Vec::new();
        for (i, out) in batch.zip(out.chunks_exact_mut((m * n).max(1))) {
            let (a_data, b_data) = (a.data_of(i), b.data_of(i));
            if is_copied && (copy.is_empty() || !b.is_shared()) {
                copy.clear();
                for p in 0..a.columns {
                    let row = &b_data[p * b.row_step..];
                    copy.extend((0..n).map(|c| row[c * b.column_step]));
                }
            }
            let (right, step, column_step) = match is_copied {
                true => (&*copy, n, 1),
                false => (b_data, b.row_step, b.column_step),
            };
            for (r, out) in out.chunks_exact_mut(n).enumerate() {
                let row = Row {
                    left: &a_data[r * a.row_step..],
                    left_step: a.column_step,
                    terms: a.columns,
                    right,
                    step,
                };
                if column_step != 1 || n == 1 {
                    row.add_one_by_one(column_step, out);
                    continue;
                }
                let mut column = 0;
                while column + WIDE <= n {
                    row.add::<WIDE>(column, out);
                    column += WIDE;
                }
                while column + NARROW <= n {
                    row.add::<NARROW>(column, out);
                    column += NARROW;
                }
                while column < n {
                    row.add::<1>(column, out);
                    column += 1;
                }
            }
        }
    }
}

/// A row of a product: the sum of the right factor's rows by the numbers of one of the left one's.
#[derive(Clone, Copy)]
struct Row<'a, T> {
    left: &'a [T],
    left_step: usize,
    terms: usize,
    right: &'a [T],
    step: usize,
}

impl<T: Number> Row<'_, T> {
    /// Adds to the sums of `N` columns, which stay in registers.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    fn add<const N: usize>(self, column: usize, out: &mut [T]) {
        let Some(out) = out[column..].first_chunk_mut::<N>() else {
            return;
        };
        let mut sums = *out;
        for p in 0..self.terms {
            let factor = self.left[p * self.left_step];
            let Some(line) = self.right[p * self.step + column..].first_chunk::<N>() else {
                return;
            };
            for i in 0..N {
                sums[i] = sums[i].plus(factor.times(line[i]));
            }
        }
        *out = sums;
    }

    /// Adds to each sum, of columns whose neighbors lie `column_step` apart.
    #[inline(always)]
    fn add_one_by_one(self, column_step: usize, out: &mut [T]) {
        for (column, out) in out.iter_mut().enumerate() {
            let mut sum = *out;
            for p in 0..self.terms {
                let v = self.right[p * self.step + column * column_step];
                sum = sum.plus(self.left[p * self.left_step].times(v));
            }
            *out = sum;
        }
    }
}
