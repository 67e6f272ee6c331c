//! The tiles of direct convolutions, and what they compute in vain.

use super::super::float::Float;
use super::super::simd::{Level, WindowProduct};
use crate::{Error, Result};

/// The lines and the width of tiles: as many sums as there are registers for, at least as many as hide what a
/// multiply-add takes.
const SHAPES: [[usize; 2]; 6] = [[1, 14], [1, 8], [1, 7], [1, 5], [2, 4], [3, 3]];

/// The rows of the highest tile, in whole squares that are transposed.
pub(super) const MOST_ROWS: usize = 16;

/// The greatest number of sums that are computed for one that is needed.
const MOST_WASTE: f64 = 1.35;

/// The longest line that is gathered from tiles. For lines of 4,000 places, copies of windows took 23 ms where tiles took 27.
pub(super) const LONGEST: usize = 512;

/// The shape of tiles for so many lines of a width, and the sums that are computed for one that is needed.
pub(super) fn shape_for(height: usize, width: usize) -> ([usize; 2], f64) {
    let computed = |[lines, columns]: [usize; 2]| {
        height.next_multiple_of(lines) as f64 * width.next_multiple_of(columns) as f64
    };
    let mut best = SHAPES[0];
    for shape in SHAPES {
        if computed(shape) < computed(best) {
            best = shape;
        }
    }
    (best, computed(best) / (height as f64 * width as f64))
}

/// Computes a tile of one of the [`SHAPES`].
pub(super) fn write_sums<T: Float>(
    [lines, columns]: [usize; 2],
    product: &WindowProduct<'_, T>,
    sums: &mut [T],
) {
    let level = Level::highest();
    match (lines, columns) {
        (1, 14) => T::window_tile::<1, 14>(level, product, sums),
        (1, 8) => T::window_tile::<1, 8>(level, product, sums),
        (1, 7) => T::window_tile::<1, 7>(level, product, sums),
        (1, 5) => T::window_tile::<1, 5>(level, product, sums),
        (2, 4) => T::window_tile::<2, 4>(level, product, sums),
        _ => T::window_tile::<3, 3>(level, product, sums),
    }
}

/// The sums that are computed for one that is needed, with whole panels of channels; nothing if copies of windows take less
/// time.
pub(super) fn waste_of<T: Float>(channels: usize, waste: f64) -> Option<f64> {
    let waste = waste * channels.next_multiple_of(T::COLUMNS) as f64 / channels as f64;
    (waste <= MOST_WASTE).then_some(waste)
}

/// Whether there are tiles at this level; elsewhere they are slow.
pub(super) fn has_tiles<T: Float>() -> bool {
    T::has_window_tiles(Level::highest())
}

/// Offsets in planes, which tiles read as they are.
pub(super) fn narrowed(offsets: impl IntoIterator<Item = usize>) -> Result<Vec<u32>> {
    let offsets = offsets.into_iter().map(u32::try_from);
    offsets
        .collect::<std::result::Result<_, _>>()
        .map_err(Error::custom)
}
