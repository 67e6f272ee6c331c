//! Windows that slide over one to three dimensions, in tiles of columns and back.

use std::ops::Range;

use super::float::Float;
use crate::zip::zip_mut;

/// The windows over a block of channels. One spatial dimension is three, two of them of size 1.
pub(super) struct Window {
    pub(super) channels: usize,
    pub(super) input: [usize; 3],
    pub(super) output: [usize; 3],
    pub(super) kernel: [usize; 3],
    pub(super) stride: [usize; 3],
    pub(super) padding: [usize; 3],
    pub(super) dilation: [usize; 3],
}

/// Three sizes, of which the last are those given.
pub(super) fn three(sizes: &[usize], fill: usize) -> [usize; 3] {
    let mut three = [fill; 3];
    let start = 3_usize.saturating_sub(sizes.len());
    for (to, &from) in zip_mut(&mut three[start..], sizes) {
        *to = from;
    }
    three
}

/// The rows of a tile, so many as a product of matrices takes at a time.
const ROWS: usize = 256;
/// The elements of a tile, which should stay in the second cache.
const TILE: usize = 1 << 17;
/// Windows of a tile, below which packing the other matrix anew for each would show.
const PLACES: usize = 256;

/// Some channels of windows that are neighbors: whole lines, or a part of one.
#[derive(Clone)]
pub(super) struct Tile {
    channels: Range<usize>,
    lines: Range<usize>,
    columns: Range<usize>,
    /// Of all elements under a window.
    pub(super) rows: Range<usize>,
    /// Of all windows.
    pub(super) positions: Range<usize>,
}

/// `0..size` in parts of nearly one size, at most `most`; `size` and `most` are not 0.
fn parts(size: usize, most: usize) -> impl Iterator<Item = Range<usize>> + Clone {
    let part = size.div_ceil(size.div_ceil(most));
    (0..size)
        .step_by(part)
        .map(move |start| start..(start + part).min(size))
}

/// Lines of a tile in one row of its elements that read the input alike.
struct Block {
    row: usize,
    /// Where the lines start in the row, and how many they are.
    start: usize,
    lines: usize,
    /// How much of each line lies before the input, inside and after.
    before: usize,
    inside: usize,
    after: usize,
    /// Where the first position inside lies in the input; neighbors are `stride[2]` apart, lines
    /// `stride[1]` lines.
    input: usize,
}

impl Window {
    /// The elements under the window.
    pub(super) fn rows(&self) -> usize {
        self.channels * self.kernel.iter().product::<usize>()
    }

    /// The number of windows.
    pub(super) fn positions(&self) -> usize {
        self.output.iter().product()
    }

    pub(super) fn input_len(&self) -> usize {
        self.channels * self.input.iter().product::<usize>()
    }

    /// Whether the columns are the input itself.
    pub(super) fn is_pointwise(&self) -> bool {
        self.kernel == [1; 3]
            && self.stride == [1; 3]
            && self.padding == [0; 3]
            && self.input == self.output
    }

    /// All windows as one tile.
    pub(super) fn whole(&self) -> Tile {
        let [depth, height, width] = self.output;
        Tile {
            channels: 0..self.channels,
            lines: 0..depth * height,
            columns: 0..width,
            rows: 0..self.rows(),
            positions: 0..self.positions(),
        }
    }

    /// All windows, in tiles; those of the same windows follow each other. There are channels, and a
    /// window, with a position in it.
    pub(super) fn tiles(&self) -> impl Iterator<Item = Tile> {
        let [depth, height, width] = self.output;
        let kernel: usize = self.kernel.iter().product();
        let block = (ROWS / kernel).clamp(1, self.channels);
        let positions = (TILE / (block * kernel)).max(PLACES);
        let channels = parts(self.channels, block);
        let lines = parts(depth * height, (positions / width).max(1));
        lines.flat_map(move |lines| {
            let channels = channels.clone();
            parts(width, positions).flat_map(move |columns| {
                let lines = lines.clone();
                let first = lines.start * width + columns.start;
                let positions = first..first + lines.len() * columns.len();
                channels.clone().map(move |channels| Tile {
                    rows: channels.start * kernel..channels.end * kernel,
                    channels,
                    lines: lines.clone(),
                    columns: columns.clone(),
                    positions: positions.clone(),
                })
            })
        })
    }

    /// For kernel position `k` in dimension `d`: the output range whose input position lies inside,
    /// with the input position of its start.
    pub(super) fn inside(&self, d: usize, k: usize) -> (Range<usize>, usize) {
        let shift = k * self.dilation[d];
        let first = self.padding[d]
            .saturating_sub(shift)
            .div_ceil(self.stride[d]);
        // One past the last output position whose input position is below the input's size.
        let end = (self.input[d] + self.padding[d])
            .saturating_sub(shift)
            .div_ceil(self.stride[d]);
        let end = end.min(self.output[d]);
        if first >= end {
            return (end..end, 0);
        }
        (first..end, first * self.stride[d] + shift - self.padding[d])
    }

    /// Calls `f` with all lines of the tile in every row, row after row.
    fn blocks(&self, tile: &Tile, mut f: impl FnMut(Block)) {
        let [kd, kh, kw] = self.kernel;
        let [_, oh, _] = self.output;
        let [id, ih, iw] = self.input;
        let Tile { lines, columns, .. } = tile;
        if lines.is_empty() || columns.is_empty() {
            return;
        }
        let mut row = 0;
        for channel in tile.channels.clone() {
            for a in 0..kd {
                let (depths, di) = self.inside(0, a);
                for b in 0..kh {
                    let (heights, hi) = self.inside(1, b);
                    for c in 0..kw {
                        let (widths, wi) = self.inside(2, c);
                        let start = widths.start.clamp(columns.start, columns.end);
                        let end = widths.end.clamp(start, columns.end);
                        let wi = wi + start.saturating_sub(widths.start) * self.stride[2];
                        for d in lines.start / oh..=(lines.end - 1) / oh {
                            let low = lines.start.saturating_sub(d * oh);
                            let high = (lines.end - d * oh).min(oh);
                            let seen = depths.contains(&d) && start < end;
                            let (first, last) = match seen {
                                true => (heights.start.clamp(low, high), heights.end),
                                false => (high, high),
                            };
                            let last = last.clamp(first, high);
                            let mut block = |lines: Range<usize>, inside: bool| {
                                if lines.is_empty() {
                                    return;
                                }
                                let mut block = Block {
                                    row,
                                    start: (d * oh + lines.start - tile.lines.start)
                                        * columns.len(),
                                    lines: lines.len(),
                                    before: columns.len(),
                                    inside: 0,
                                    after: 0,
                                    input: 0,
                                };
                                if inside {
                                    let z = di + (d - depths.start) * self.stride[0];
                                    let y = hi + (lines.start - heights.start) * self.stride[1];
                                    block.before = start - columns.start;
                                    block.inside = end - start;
                                    block.after = columns.end - end;
                                    block.input = ((channel * id + z) * ih + y) * iw + wi;
                                }
                                f(block);
                            };
                            block(low..first, false);
                            block(first..last, true);
                            block(last..high, false);
                        }
                        row += 1;
                    }
                }
            }
        }
    }

    /// How far lines lie apart in the input. A step far beyond the input has one line only.
    fn pitch(&self) -> usize {
        self.stride[1].saturating_mul(self.input[2])
    }

    /// Calls `f` with every part of a line of the tile that lies inside the input: its row, where it
    /// starts in the row and in the input, and its length.
    pub(super) fn segments(&self, tile: &Tile, mut f: impl FnMut(usize, usize, usize, usize)) {
        let (width, pitch) = (tile.columns.len(), self.pitch());
        self.blocks(tile, |block| {
            if block.inside > 0 {
                for line in 0..block.lines {
                    let start = block.start + line * width + block.before;
                    f(block.row, start, block.input + line * pitch, block.inside);
                }
            }
        });
    }

    /// Writes the elements of a tile, `[rows, positions]`, with zeros for the padding; a row starts `stride`
    /// elements after the one before.
    pub(super) fn unfold<T: Float>(
        &self,
        input: &[T],
        tile: &Tile,
        elements: &mut [T],
        stride: usize,
    ) {
        let width = tile.columns.len();
        let (step, pitch) = (self.stride[2], self.pitch());
        self.blocks(tile, |block| {
            let start = block.row * stride + block.start;
            let lines = &mut elements[start..start + block.lines * width];
            if block.inside == 0 {
                lines.fill(T::zero());
                return;
            }
            // Lines that follow each other in the input as they do here are one.
            let joined = step == 1 && pitch == width;
            if joined {
                let end = lines.len() - block.after;
                let lines = &mut lines[block.before..end];
                lines.copy_from_slice(&input[block.input..block.input + lines.len()]);
            }
            for (i, line) in lines.chunks_exact_mut(width).enumerate() {
                let (before, line) = line.split_at_mut(block.before);
                let (line, after) = line.split_at_mut(block.inside);
                if !joined {
                    copy_steps(&input[block.input + i * pitch..], step, line);
                }
                // Most often there is one zero, for which `fill` would be a call.
                before
                    .iter_mut()
                    .chain(after)
                    .for_each(|zero| *zero = T::zero());
            }
        });
    }

    /// Adds the elements of a tile, whose rows and samples start so many elements after each other, to the positions of
    /// one sample or more that they came from.
    pub(super) fn fold<T: Float>(
        &self,
        elements: &[T],
        tile: &Tile,
        inputs: &mut [T],
        [stride, sample_step]: [usize; 2],
    ) {
        let step = self.stride[2];
        self.segments(tile, |row, line, position, length| {
            let from = &elements[row * stride + line..];
            for (sample, input) in inputs.chunks_exact_mut(self.input_len()).enumerate() {
                let from = &from[sample * sample_step..][..length];
                add_steps(from, |v| v, step, &mut input[position..]);
            }
        });
    }
}

/// Every `step`-th element of `from`, as many as `to` holds.
pub(super) fn copy_steps<T: Copy>(from: &[T], step: usize, to: &mut [T]) {
    match (step, to) {
        (1, to) => to.copy_from_slice(&from[..to.len()]),
        // A step that the compiler knows is several elements at a time.
        (2, [to @ .., last]) => {
            *last = from[2 * to.len()];
            for (to, from) in to.iter_mut().zip(from.chunks_exact(2)) {
                *to = from[0];
            }
        }
        (_, to) => {
            for (to, from) in to.iter_mut().zip(from.iter().step_by(step)) {
                *to = *from;
            }
        }
    }
}

/// Adds `f` of each element to every `step`-th of `to`.
#[inline]
pub(super) fn add_steps<T: Float>(from: &[T], f: impl Fn(T) -> T, step: usize, to: &mut [T]) {
    match (step, from) {
        (1, from) => {
            for (to, &from) in zip_mut(to, from) {
                *to = to.plus(f(from));
            }
        }
        (2, [from @ .., last]) => {
            to[2 * from.len()] = to[2 * from.len()].plus(f(*last));
            for (to, &from) in to.chunks_exact_mut(2).zip(from) {
                to[0] = to[0].plus(f(from));
            }
        }
        (_, from) => {
            for (to, &from) in to.iter_mut().step_by(step).zip(from) {
                *to = to.plus(f(from));
            }
        }
    }
}
