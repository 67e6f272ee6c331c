//! Sums of products in parallel lanes.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::lanes::{WIDE_LANES, sum_of_lanes};
use super::number::Number;
use super::simd::Loop;
use crate::zip::zip;

/// `Σ aᵢ bᵢ`
pub(super) struct Dot<'a, T>(pub(super) &'a [T], pub(super) &'a [T]);

impl<T: Number> Loop for Dot<'_, T> {
    type Output = T;

    #[inline(always)]
    fn run(self) -> T {
        let [dot] = dots([self.0], self.1);
        dot
    }
}

/// `Σ aᵢ bᵢ` for each of several rows `a`, all of them as long as `b`: in lanes, then those of the last elements, then all.
#[inline(always)]
pub(super) fn dots<T: Number, const ROWS: usize>(rows: [&[T]; ROWS], b: &[T]) -> [T; ROWS] {
    let (b, b_rest) = b.as_chunks::<WIDE_LANES>();
    // One length for all, so that it is checked once.
    let chunks = rows.map(|row| &row.as_chunks::<WIDE_LANES>().0[..b.len()]);
    let lanes = add_products([[T::zero(); WIDE_LANES]; ROWS], chunks, b);
    let mut dots = [T::zero(); ROWS];
    for k in 0..ROWS {
        let rest = zip(&rows[k][b.len() * WIDE_LANES..], b_rest);
        let rest = rest.fold(T::zero(), |sum, (&a, &b)| sum.plus(a.times(b)));
        dots[k] = rest.plus(sum_of_lanes(lanes[k]));
    }
    dots
}

/// Adds the products of each row to its lanes, which are in registers only where they are the result of a function, and are
/// reached by index.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) fn add_products<T: Number, const ROWS: usize>(
    mut lanes: [[T; WIDE_LANES]; ROWS],
    rows: [&[[T; WIDE_LANES]]; ROWS],
    b: &[[T; WIDE_LANES]],
) -> [[T; WIDE_LANES]; ROWS] {
    for p in 0..b.len() {
        for k in 0..ROWS {
            for i in 0..WIDE_LANES {
                lanes[k][i] = lanes[k][i].plus(rows[k][p][i].times(b[p][i]));
            }
        }
    }
    lanes
}
