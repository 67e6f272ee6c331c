//! Rows that become one row: each column is combined from its first value on, row after row.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::array::from_fn;
use std::ops::Range;

use super::simd::Loop;

/// The rows that are combined at a time, so that a value is read and written once for all of them.
const ROWS: usize = 4;

/// Below so many columns, some of them are combined in registers, from the first row to the last.
const NARROW: usize = 256;

/// Some columns of rows of `width` elements, at least one: `combine(… combine(first(column), row₀[column]) …)`.
pub(super) struct CombineRows<'a, T, V, C> {
    pub(super) values: &'a [T],
    pub(super) width: usize,
    pub(super) columns: Range<usize>,
    /// The value of a column before all rows.
    pub(super) first: V,
    pub(super) combine: C,
    pub(super) out: &'a mut [T],
}

impl<T, V, C> Loop for CombineRows<'_, T, V, C>
where
    T: Copy,
    V: Fn(usize) -> T + Copy,
    C: Fn(T, T) -> T + Copy,
{
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // Of loops over fewer than 64 elements, the compiler makes vectors only if it knows their number.
        match self.columns.len() {
            8..16 if self.width < 16 => self.combine_narrow::<8>(),
            16..NARROW if self.width < NARROW => self.combine_narrow::<16>(),
            _ => self.combine_wide(),
        }
    }
}

impl<T, V, C> CombineRows<'_, T, V, C>
where
    T: Copy,
    V: Fn(usize) -> T + Copy,
    C: Fn(T, T) -> T + Copy,
{
    /// Combines at least `W` columns, twice `W` at a time, as each step waits for the one before. The last may overlap those
    /// before.
    #[inline(always)]
    fn combine_narrow<const W: usize>(self) {
        let (columns, combine) = (self.columns, self.combine);
        let end = columns.end - W;
        for start in columns.clone().step_by(2 * W) {
            let [one, other] = [start.min(end), (start + W).min(end)];
            let mut ones: [T; W] = from_fn(|i| (self.first)(one + i));
            let mut others: [T; W] = from_fn(|i| (self.first)(other + i));
            for row in self.values.chunks_exact(self.width) {
                let columns = |at: usize| row.get(at..).and_then(<[T]>::first_chunk::<W>);
                if let (Some(a), Some(b)) = (columns(one), columns(other)) {
                    ones = from_fn(|i| combine(ones[i], a[i]));
                    others = from_fn(|i| combine(others[i], b[i]));
                }
            }
            self.out[one - columns.start..][..W].copy_from_slice(&ones);
            self.out[other - columns.start..][..W].copy_from_slice(&others);
        }
    }

    #[inline(always)]
    fn combine_wide(self) {
        let Self {
            values,
            width,
            columns,
            first,
            combine,
            out,
        } = self;
        for (out, column) in out.iter_mut().zip(columns.clone()) {
            *out = first(column);
        }
        let several = values.chunks_exact(ROWS * width);
        let rest = several.remainder().chunks_exact(width);
        for rows in several {
            let row = |i: usize| &rows[i * width..][columns.clone()];
            combine_some::<T, ROWS>([row(0), row(1), row(2), row(3)], out, combine);
        }
        for row in rest {
            combine_some([&row[columns.clone()]], out, combine);
        }
    }
}

/// Combines the elements of rows with those of `out`.
#[inline(always)]
fn combine_some<T: Copy, const N: usize>(
    rows: [&[T]; N],
    out: &mut [T],
    combine: impl Fn(T, T) -> T,
) {
    let rows = rows.map(|row| &row[..out.len()]);
    for (i, out) in out.iter_mut().enumerate() {
        let mut own = *out;
        for row in rows {
            own = combine(own, row[i]);
        }
        *out = own;
    }
}
