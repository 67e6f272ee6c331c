//! The products that tiles compute, without those with padding.
//!
//! A product with padding adds zero, unless the other factor is infinite or NaN. It is skipped if it belongs to a whole
//! line of a tile, or to the columns at its ends. Sums keep their bits, except for the sign of a zero after underflow.

use super::super::gemm::DEPTH;
use super::super::simd::{Padding, Tap, padded_columns};
use super::super::window::Window;
use super::shapes::{Shape, narrowed};
use crate::Result;

/// The input positions that one kernel element reads along one dimension.
pub(super) struct Reach {
    /// The position that it reads for the first output, which may lie before the input, and the step to the next.
    pub(super) first: isize,
    pub(super) step: usize,
    /// The size of the input.
    pub(super) end: usize,
}

impl Reach {
    /// Those of all kernel elements, for each dimension.
    pub(super) fn all(window: &Window) -> [Vec<Self>; 3] {
        let reach = |d: usize, element: usize| Self {
            first: (element * window.dilation[d]) as isize - window.padding[d] as isize,
            step: window.stride[d],
            end: window.input[d],
        };
        [0, 1, 2].map(|d| {
            (0..window.kernel[d])
                .map(|element| reach(d, element))
                .collect()
        })
    }

    /// Whether it reads the input, not padding, for an output position.
    pub(super) fn sees_input(&self, position: usize) -> bool {
        let at = self.first + (position * self.step) as isize;
        usize::try_from(at).is_ok_and(|at| at < self.end)
    }

    /// The number of output positions for which it reads the input.
    fn count(&self, positions: usize) -> usize {
        // The first output position that reads `at` or a later position.
        let position = |at: isize| {
            let steps = at.saturating_sub(self.first).max(0) as usize;
            steps.div_ceil(self.step).min(positions)
        };
        position(self.end as isize) - position(0)
    }
}

/// The share of products that read the input, not padding, for the given output size.
pub(super) fn share_of_input(reaches: &[Vec<Reach>; 3], positions: [usize; 3]) -> f64 {
    let shares = reaches.iter().zip(positions).map(|(reaches, positions)| {
        let seen = reaches.iter().map(|reach| reach.count(positions) as f64);
        seen.sum::<f64>() / (positions as f64 * reaches.len() as f64)
    });
    shares.product()
}

/// Above this share of products that read the input, products with padding are not skipped: the lists of the remaining
/// products would cost more time than they save.
pub(super) const MOST_OF_INPUT: f64 = 0.97;

/// The tiles of a shape that cover an output.
pub(super) fn tiles_of(
    reaches: &[Vec<Reach>; 3],
    [depth, height, width]: [usize; 3],
    shape: Shape,
    skip: bool,
) -> [TilesAlong; 3] {
    let [z, y, x] = reaches;
    [
        TilesAlong::of_lines(z, depth, 1, skip),
        TilesAlong::of_lines(y, height, shape.lines, skip),
        TilesAlong::of_columns(x, width, shape, skip),
    ]
}

/// The products that tiles need along one dimension; many tiles need the same ones.
pub(super) struct TilesAlong {
    /// For each kind of tile and each reach: a bit for each position of the tile that is skipped, the lowest for the
    /// first, or `None` if all of them read padding.
    kinds: Vec<Vec<Option<u32>>>,
    /// The kind of each tile.
    of_tiles: Vec<usize>,
    /// The positions of a tile.
    len: usize,
    /// Whether tiles skip all padding.
    pub(super) skips_all: bool,
}

impl TilesAlong {
    /// Tiles of `len` lines, each of which can be skipped; all are of one kind if padding is not skipped.
    pub(super) fn of_lines(reaches: &[Reach], positions: usize, len: usize, skip: bool) -> Self {
        Self::new(reaches, positions, len, if skip { u32::MAX } else { 0 })
    }

    /// Tiles of the columns of a shape, of which some at each end can be skipped.
    pub(super) fn of_columns(
        reaches: &[Reach],
        positions: usize,
        shape: Shape,
        skip: bool,
    ) -> Self {
        let (len, ends) = (shape.columns, padded_columns(shape.lines));
        let ends = bits((0..len).filter(|&i| i < ends || i >= len - ends));
        Self::new(reaches, positions, len, if skip { ends } else { 0 })
    }

    /// Bits of `skipped` say which positions can be skipped.
    fn new(reaches: &[Reach], positions: usize, len: usize, skipped: u32) -> Self {
        let (mut kinds, mut of_tiles, mut skips_all) = (Vec::new(), Vec::new(), skipped != 0);
        for start in (0..positions).step_by(len) {
            let beyond = bits(positions - start..len);
            let all = bits(0..len);
            let kind: Vec<Option<u32>> = reaches
                .iter()
                .map(|reach| {
                    let padding = bits((0..len).filter(|i| !reach.sees_input(start + i)));
                    skips_all &= padding & !beyond & !skipped == 0 || padding | beyond == all;
                    let is_seen = skipped == 0 || padding | beyond != all;
                    is_seen.then_some((padding | beyond) & skipped)
                })
                .collect();
            let known = kinds.iter().position(|known| *known == kind);
            of_tiles.push(known.unwrap_or(kinds.len()));
            if known.is_none() {
                kinds.push(kind);
            }
        }
        Self {
            kinds,
            of_tiles,
            len,
            skips_all,
        }
    }

    /// The bits of the positions that each reach skips for a tile.
    pub(super) fn of_tile(&self, tile: usize) -> &[Option<u32>] {
        &self.kinds[self.of_tiles[tile]]
    }

    /// The bits of the first two columns and the last two.
    pub(super) fn ends(&self, skipped: u32) -> u32 {
        skipped & 0b11 | skipped >> (self.len - 2) << 2
    }
}

/// A number with these bits set.
fn bits(positions: impl Iterator<Item = usize>) -> u32 {
    positions.fold(0, |bits, i| bits | 1 << i)
}

/// The products of a tile with one channel, and the parts in which the products with all channels are summed.
pub(super) struct TapList {
    pub(super) taps: Vec<Tap>,
    pub(super) parts: Vec<Part>,
}

/// Products that one sum adds up.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub(super) channel: usize,
    /// The index of the first product in the channel's list, and the number of products.
    pub(super) first: usize,
    pub(super) count: usize,
}

impl TapList {
    /// `starts` are the offsets of what the kernel elements read for the first output position; `along` is of columns.
    fn new(starts: &[u32], channels: usize, seen: [&[Option<u32>]; 3], along: &TilesAlong) -> Self {
        let [z, y, x] = seen;
        let mut taps = Vec::new();
        for (row, &offset) in starts.iter().enumerate() {
            let (slice, line, column) = (
                row / x.len() / y.len(),
                row / x.len() % y.len(),
                row % x.len(),
            );
            if let (Some(_), Some(lines), Some(columns)) = (z[slice], y[line], x[column]) {
                let columns = along.ends(columns);
                taps.push(Tap {
                    offset,
                    row: row as u32,
                    count: 1,
                    padding: Padding { lines, columns },
                });
            }
        }
        let rows = starts.len();
        // The number of products before a row of the whole weight.
        let before = |row: usize| {
            let of_channel = taps.partition_point(|tap| (tap.row as usize) < row % rows);
            row / rows * taps.len() + of_channel
        };
        let all = rows * channels;
        let part = |from: usize| {
            let first = before(from);
            let count = before(all.min(from + DEPTH)) - first;
            // Without products, it would begin after the last channel.
            let first = if count == 0 { 0 } else { first };
            Part {
                channel: first.checked_div(taps.len()).unwrap_or(0),
                first: first.checked_rem(taps.len()).unwrap_or(0),
                count,
            }
        };
        let parts = (0..all).step_by(DEPTH).map(part).collect();
        Self { taps, parts }
    }
}

/// The products of all tiles of an output.
pub(super) struct TapLists {
    lists: Vec<TapList>,
    along: [TilesAlong; 3],
}

impl TapLists {
    /// `starts` are the offsets of what the kernel elements read for the first output position, in the first channel.
    pub(super) fn new(along: [TilesAlong; 3], starts: &[u32], channels: usize) -> Self {
        let mut lists = Vec::new();
        for z in &along[0].kinds {
            for y in &along[1].kinds {
                for x in &along[2].kinds {
                    lists.push(TapList::new(starts, channels, [z, y, x], &along[2]));
                }
            }
        }
        Self { lists, along }
    }

    /// The products of the tile with these indices.
    pub(super) fn of_tile(&self, tile: [usize; 3]) -> &TapList {
        let mut list = 0;
        for (along, tile) in self.along.iter().zip(tile) {
            list = list * along.kinds.len() + along.of_tiles[tile];
        }
        &self.lists[list]
    }
}

/// Offsets as tiles read them.
pub(super) fn offsets(starts: impl IntoIterator<Item = usize>) -> Result<Vec<u32>> {
    starts.into_iter().map(narrowed).collect()
}
