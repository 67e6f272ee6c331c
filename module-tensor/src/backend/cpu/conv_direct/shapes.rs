//! The tiles of direct convolutions, and what they compute in vain.

use super::super::float::Float;
use super::super::simd::{Level, WindowProduct};
use crate::{Error, Result};

/// The channels, lines and width of a tile.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// The registers of channels.
    vectors: usize,
    pub(super) lines: usize,
    pub(super) columns: usize,
    /// How far columns are apart in the data.
    pub(super) step: usize,
}

/// The lines and the width of tiles with two registers of channels, and of those with one.
type TileSizes = [&'static [[usize; 2]]; 2];

/// As many sums as there are registers for, at least as many as hide what a multiply-add takes.
const OF_MAPS: TileSizes = [
    &[[1, 14], [2, 7], [1, 8], [1, 7], [1, 5], [2, 4], [3, 3]],
    &[
        [1, 28],
        [2, 14],
        [1, 16],
        [4, 7],
        [2, 8],
        [5, 5],
        [4, 4],
        [3, 3],
    ],
];

/// Those of kernels, whose lines are not longer than seven or eight.
const OF_KERNELS: TileSizes = [
    &[[1, 7], [1, 5], [2, 4], [3, 3]],
    &[[4, 7], [2, 8], [5, 5], [4, 4], [3, 3]],
];

/// The lines of a tile of three slices of a kernel of three by three.
const HIGH: usize = 9;

/// The rows of the highest tile, in whole squares that are transposed.
pub(super) const MOST_ROWS: usize = 32;

/// The most elements of a tile, or of its rows in whole squares.
pub(super) const MOST_SUMS: usize = 32 * MOST_ROWS;

/// The greatest number of sums that are computed for one that is needed.
const MOST_WASTE: f64 = 1.35;

/// The multiply-adds of registers that take as long as finding what a tap reads.
const TAP: f64 = 4.0;

/// The time of a product with one register of channels, which shares no element of a window with another.
const NARROW_COST: f64 = 1.1;

/// The longest line that is gathered from tiles. For lines of 4,000 positions, copies of windows took 23 ms where tiles
/// took 27.
pub(super) const LONGEST: usize = 512;

impl Shape {
    /// The shape of tiles for so many channels of lines of a width.
    pub(super) fn new<T: Float>(channels: usize, height: usize, width: usize) -> Self {
        Self::of_sizes::<T>([channels, height, width], OF_MAPS)
    }

    fn of_sizes<T: Float>(output: [usize; 3], sizes: TileSizes) -> Self {
        let ([wide, narrow], [_, plane @ ..]) = (least_wastes::<T>(output, sizes), output);
        match narrow < wide {
            true => Self::fastest(plane, 1, sizes[1]),
            false => Self::fastest(plane, 2, sizes[0]),
        }
    }

    /// The shape with so many registers of channels that takes the least time.
    fn fastest([height, width]: [usize; 2], vectors: usize, sizes: &[[usize; 2]]) -> Self {
        // Lines beyond the last are skipped.
        let time = |&[lines, columns]: &[usize; 2]| {
            let high = height.div_ceil(lines) as f64 / height as f64;
            padding(width, columns) * (1.0 + high * TAP / (vectors * columns) as f64)
        };
        let size = sizes.iter().min_by(|a, b| time(a).total_cmp(&time(b)));
        let &[lines, columns] = size.unwrap_or(&sizes[0]);
        Self {
            vectors,
            lines,
            columns,
            step: 1,
        }
    }

    /// The shape of tiles that is fastest at this level: with fewer registers, those of one vector of channels, whose panels stay
    /// in the nearest cache.
    pub(super) fn at_level<T: Float>(channels: usize, height: usize, width: usize) -> Self {
        let shape = Self::new::<T>(channels, height, width);
        match has_tiles::<T>() || shape.is_narrow() {
            true => shape,
            false => Self::fastest([height, width], 1, OF_MAPS[1]),
        }
    }

    /// The same for columns that are so far apart in the data, if there is such a tile.
    pub(super) fn with_step(self, step: usize) -> Option<Self> {
        let is_long = self.columns >= 7;
        let exists = step == 1 || (step == 2 && self.vectors == 2 && is_long);
        exists.then_some(Self { step, ..self })
    }

    /// The shape of tiles of a kernel for so many channels, whose lines follow those of the slice before.
    pub(super) fn of_kernel<T: Float>(channels: usize, kernel: [usize; 3]) -> Self {
        let [depth, height, width] = kernel;
        let mut shape = Self::of_sizes::<T>([channels, height, width], OF_KERNELS);
        if shape.vectors == 1 && shape.columns == 3 && (depth * height).is_multiple_of(HIGH) {
            shape.lines = HIGH;
        }
        shape
    }

    /// Whether each product reads an element of a window of its own.
    pub(super) fn is_narrow(self) -> bool {
        self.vectors == 1
    }

    /// Whether tiles of a kernel read each element of a line once for all columns, so that padding takes less time than skipping
    /// it.
    pub(super) fn reads_lines_once(self) -> bool {
        self.vectors == 1 && self.columns == 3
    }

    /// The channels of a tile.
    pub(super) fn channels<T: Float>(self) -> usize {
        self.vectors * T::LANES
    }

    /// Computes a tile of the output.
    pub(super) fn write_sums<T: Float>(self, product: &WindowProduct<'_, T>, sums: &mut [T]) {
        let level = Level::highest();
        match (self.vectors, self.lines, self.columns, self.step) {
            (2, 1, 14, 1) => T::window_tile::<2, 1, 14, 1, false>(level, product, sums),
            (2, 1, 8, 1) => T::window_tile::<2, 1, 8, 1, false>(level, product, sums),
            (2, 2, 7, 1) => T::window_tile::<2, 2, 7, 1, false>(level, product, sums),
            (2, 1, 7, 1) => T::window_tile::<2, 1, 7, 1, false>(level, product, sums),
            (2, 1, 5, 1) => T::window_tile::<2, 1, 5, 1, false>(level, product, sums),
            (2, 2, 4, 1) => T::window_tile::<2, 2, 4, 1, false>(level, product, sums),
            (2, 3, 3, 1) => T::window_tile::<2, 3, 3, 1, false>(level, product, sums),
            (2, 1, 14, _) => T::window_tile::<2, 1, 14, 2, false>(level, product, sums),
            (2, 1, 8, _) => T::window_tile::<2, 1, 8, 2, false>(level, product, sums),
            (2, 2, 7, _) => T::window_tile::<2, 2, 7, 2, false>(level, product, sums),
            (2, ..) => T::window_tile::<2, 1, 7, 2, false>(level, product, sums),
            (_, 1, 28, _) => T::window_tile::<1, 1, 28, 1, false>(level, product, sums),
            (_, 2, 14, _) => T::window_tile::<1, 2, 14, 1, false>(level, product, sums),
            (_, 1, 16, _) => T::window_tile::<1, 1, 16, 1, false>(level, product, sums),
            (_, 4, 7, _) => T::window_tile::<1, 4, 7, 1, false>(level, product, sums),
            (_, 2, 8, _) => T::window_tile::<1, 2, 8, 1, false>(level, product, sums),
            (_, 5, 5, _) => T::window_tile::<1, 5, 5, 1, false>(level, product, sums),
            (_, 4, 4, _) => T::window_tile::<1, 4, 4, 1, false>(level, product, sums),
            _ => T::window_tile::<1, 3, 3, 1, false>(level, product, sums),
        }
    }

    /// Computes a tile of a kernel, whose taps have many products.
    pub(super) fn write_kernel_sums<T: Float>(
        self,
        product: &WindowProduct<'_, T>,
        sums: &mut [T],
    ) {
        let level = Level::highest();
        match (self.vectors, self.lines, self.columns) {
            (2, 1, 7) => T::window_tile::<2, 1, 7, 1, true>(level, product, sums),
            (2, 1, 5) => T::window_tile::<2, 1, 5, 1, true>(level, product, sums),
            (2, 2, 4) => T::window_tile::<2, 2, 4, 1, true>(level, product, sums),
            (2, ..) => T::window_tile::<2, 3, 3, 1, true>(level, product, sums),
            (_, 4, 7) => T::window_tile::<1, 4, 7, 1, true>(level, product, sums),
            (_, 2, 8) => T::window_tile::<1, 2, 8, 1, true>(level, product, sums),
            (_, 5, 5) => T::window_tile::<1, 5, 5, 1, true>(level, product, sums),
            (_, 4, 4) => T::window_tile::<1, 4, 4, 1, true>(level, product, sums),
            (_, HIGH, _) => T::line_tile::<HIGH>(level, product, sums),
            _ => T::line_tile::<3>(level, product, sums),
        }
    }
}

/// How many times as long a size is with what fills the last of its parts.
fn padding(size: usize, part: usize) -> f64 {
    size.next_multiple_of(part) as f64 / size as f64
}

/// The fewest sums that tiles with two registers of channels compute for one that is needed, and those with one, of which each
/// counts as [`NARROW_COST`].
fn least_wastes<T: Float>([channels, height, width]: [usize; 3], sizes: TileSizes) -> [f64; 2] {
    let waste = |&[lines, columns]: &[usize; 2]| padding(height, lines) * padding(width, columns);
    let least = |i: usize| sizes[i].iter().map(waste).fold(f64::INFINITY, f64::min);
    let channels = |vectors: usize| padding(channels, vectors * T::LANES);
    [channels(2) * least(0), channels(1) * least(1) * NARROW_COST]
}

/// The fewest sums that tiles of any size compute for one that is needed.
pub(super) fn waste_of_map<T: Float>(channels: usize, height: usize, width: usize) -> f64 {
    let [wide, narrow] = least_wastes::<T>([channels, height, width], OF_MAPS);
    wide.min(narrow)
}

/// The same of tiles of a kernel.
pub(super) fn waste_of_kernel<T: Float>(channels: usize, kernel: [usize; 3]) -> f64 {
    let [wide, narrow] = least_wastes::<T>([channels, kernel[1], kernel[2]], OF_KERNELS);
    wide.min(narrow)
}

/// The sums that are computed for one that is needed; nothing if copies of windows take less time.
pub(super) fn direct_waste(waste: f64) -> Option<f64> {
    (waste <= MOST_WASTE).then_some(waste)
}

/// Whether there are tiles at this level; elsewhere they are slow.
pub(super) fn has_tiles<T: Float>() -> bool {
    T::has_window_tiles(Level::highest())
}

/// Offsets in planes, which tiles read as they are.
pub(super) fn narrowed(offset: usize) -> Result<u32> {
    u32::try_from(offset).map_err(Error::custom)
}
