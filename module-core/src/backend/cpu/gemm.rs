//! Products of matrices, by ndarray, divided among threads.

use ndarray::linalg::general_mat_mul;
use ndarray::{ArrayView2, ArrayViewMut2, Axis};

use super::float::Float;
use super::threads::{Cut, divide};

/// Rows or columns of a product that are not cut apart, because the product computes them together.
const TILE: usize = 64;

/// `out = scale · a · b + keep · out`, also where the inner size is 0.
pub(super) fn multiply<T: Float>(
    scale: T,
    a: &ArrayView2<'_, T>,
    b: &ArrayView2<'_, T>,
    keep: T,
    mut out: ArrayViewMut2<'_, T>,
) {
    let (m, k, n) = (a.nrows(), a.ncols(), b.ncols());
    if k == 0 {
        if keep == T::zero() {
            out.fill(T::zero());
        }
        return;
    }
    let axis = Axis(usize::from(n > m));
    // About 32 products are added in a nanosecond.
    let steps = (TILE * k).saturating_mul(m.min(n)) / 32;
    let tiles = m.max(n).div_ceil(TILE);
    let whole = Tiles { out, axis };
    let done = divide(tiles, steps, whole, &|tiles, part| {
        let Tiles { mut out, .. } = part;
        let range = tiles.start * TILE..tiles.start * TILE + out.len_of(axis);
        let part = range.into();
        match axis {
            Axis(0) => general_mat_mul(scale, &a.slice_axis(axis, part), b, keep, &mut out),
            _ => general_mat_mul(scale, a, &b.slice_axis(axis, part), keep, &mut out),
        }
        Ok(())
    });
    // The work above does not fail.
    debug_assert!(done.is_ok());
}

/// The rows or columns of a matrix.
struct Tiles<'a, T> {
    out: ArrayViewMut2<'a, T>,
    axis: Axis,
}

impl<T: Send> Cut for Tiles<'_, T> {
    fn cut(self, items: usize) -> (Self, Self) {
        let axis = self.axis;
        let at = (items * TILE).min(self.out.len_of(axis));
        let (out, rest) = self.out.split_at(axis, at);
        (Self { out, axis }, Self { out: rest, axis })
    }
}
