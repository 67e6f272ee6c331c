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

/// The lines and the width of tiles of two registers of channels and of one: as many sums as there are registers for, at
/// least as many as hide what a multiply-add takes. Tiles of kernels are not longer than seven or eight.
const WIDE: [[usize; 2]; 7] = [[1, 14], [1, 8], [1, 7], [1, 5], [2, 4], [3, 3], [2, 7]];
const NARROW: [[usize; 2]; 8] = [
    [1, 28],
    [2, 14],
    [1, 16],
    [4, 7],
    [2, 8],
    [5, 5],
    [4, 4],
    [3, 3],
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
    /// The shape of tiles for so many channels of lines of a width, and the fewest sums that tiles compute for one that is
    /// needed.
    pub(super) fn new<T: Float>(channels: usize, height: usize, width: usize) -> (Self, f64) {
        Self::of_lists::<T>(channels, [height, width], [&WIDE, &NARROW])
    }

    fn of_lists<T: Float>(
        channels: usize,
        [height, width]: [usize; 2],
        [wide, narrow]: [&[[usize; 2]]; 2],
    ) -> (Self, f64) {
        let size = [channels, height, width];
        let wide = Self::of_vectors::<T>(2, size, wide, 1.0);
        let narrow = Self::of_vectors::<T>(1, size, narrow, NARROW_COST);
        match narrow.1 < wide.1 {
            true => narrow,
            false => wide,
        }
    }

    /// The shape of tiles with so many registers of channels, of a list, that takes the least time, and the fewest sums that any
    /// shape of the list computes for one that is needed.
    fn of_vectors<T: Float>(
        vectors: usize,
        [channels, height, width]: [usize; 3],
        shapes: &[[usize; 2]],
        cost: f64,
    ) -> (Self, f64) {
        let padded = channels.next_multiple_of(vectors * T::LANES) as f64 / channels as f64;
        let wide = |columns: usize| width.next_multiple_of(columns) as f64 / width as f64;
        let waste = |&[lines, columns]: &[usize; 2]| {
            height.next_multiple_of(lines) as f64 / height as f64 * wide(columns)
        };
        // Lines beyond the last are skipped.
        let time = |&[lines, columns]: &[usize; 2]| {
            let high = height.div_ceil(lines) as f64 / height as f64;
            wide(columns) * (1.0 + high * TAP / (vectors * columns) as f64)
        };
        let shape = shapes.iter().min_by(|a, b| time(a).total_cmp(&time(b)));
        let &[lines, columns] = shape.unwrap_or(&shapes[0]);
        let shape = Self {
            vectors,
            lines,
            columns,
            step: 1,
        };
        let waste = shapes.iter().map(waste).fold(f64::INFINITY, f64::min);
        (shape, padded * waste * cost)
    }

    /// The shape of tiles that is fastest at this level: with fewer registers, those of one vector of channels, whose panels stay
    /// in the nearest cache.
    pub(super) fn at_level<T: Float>(channels: usize, height: usize, width: usize) -> Self {
        let shape = Self::new::<T>(channels, height, width).0;
        match has_tiles::<T>() || shape.is_narrow() {
            true => shape,
            false => Self::of_vectors::<T>(1, [channels, height, width], &NARROW, 1.0).0,
        }
    }

    /// The same for columns that are so far apart in the data, if there is such a tile.
    pub(super) fn with_step(self, step: usize) -> Option<Self> {
        let is_long = self.columns >= 7;
        let exists = step == 1 || (step == 2 && self.vectors == 2 && is_long);
        exists.then_some(Self { step, ..self })
    }

    /// The shape of tiles of a kernel for so many channels, whose lines follow those of the slice before, and the fewest sums
    /// that tiles compute for one that is needed.
    pub(super) fn of_kernel<T: Float>(channels: usize, kernel: [usize; 3]) -> (Self, f64) {
        let [depth, height, width] = kernel;
        let (mut shape, waste) =
            Self::of_lists::<T>(channels, [height, width], [&WIDE[2..6], &NARROW[3..]]);
        if shape.vectors == 1 && shape.columns == 3 && (depth * height).is_multiple_of(HIGH) {
            shape.lines = HIGH;
        }
        (shape, waste)
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
