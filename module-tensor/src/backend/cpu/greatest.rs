//! The greatest of the numbers in a row, without NaN.

use super::float::Float;
use super::lanes::LANES;
use crate::zip::zip_mut;

/// The greatest element that is not NaN, `-∞` of none, to be found in a loop.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn max_of<T: Float>(x: &[T]) -> T {
    max_of_lanes(max_lanes(x))
}

/// The greatest elements that are not NaN, in lanes.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn max_lanes<T: Float>(x: &[T]) -> [T; LANES] {
    let mut most = [T::NEG_INFINITY; LANES];
    let (chunks, last) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for i in 0..LANES {
            most[i] = greater(most[i], chunk[i]);
        }
    }
    match x.last_chunk::<LANES>() {
        _ if last.is_empty() => {}
        // Some have been before, and are not greater than themselves.
        Some(last) => {
            for i in 0..LANES {
                most[i] = greater(most[i], last[i]);
            }
        }
        None => {
            for (most, &v) in zip_mut(&mut most, last) {
                *most = greater(*most, v);
            }
        }
    }
    most
}

/// The greater of two numbers of which the second may be NaN.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn greater<T: Float>(most: T, v: T) -> T {
    if v > most { v } else { most }
}

/// The greatest of lanes, none of which is NaN: halves of halves, because in order each step waits for the one before.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn max_of_lanes<T: Float>(lanes: [T; LANES]) -> T {
    let mut eight = [T::zero(); LANES / 2];
    for i in 0..LANES / 2 {
        eight[i] = greater(lanes[i], lanes[i + LANES / 2]);
    }
    let mut four = [T::zero(); LANES / 4];
    for i in 0..LANES / 4 {
        four[i] = greater(eight[i], eight[i + LANES / 4]);
    }
    greater(greater(four[0], four[2]), greater(four[1], four[3]))
}
