//! Windows that slide over one to three dimensions, laid side by side as columns and back.

use std::ops::Range;

use super::float::Float;
use super::map::{FloatKernel, run_float};
use super::view::to_cow;
use super::{CpuStorage, Operand, Storage, UnfoldGeometry, UnfoldOp, room};
use crate::Result;

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
    for (to, &from) in three[start..].iter_mut().zip(sizes) {
        *to = from;
    }
    three
}

/// Windows that are neighbours: whole lines, or a part of one.
#[derive(Clone)]
pub(super) struct Tile {
    lines: Range<usize>,
    columns: Range<usize>,
    /// The places of the output, flattened.
    pub(super) places: Range<usize>,
}

/// One line of a tile in one row of its columns.
struct Segment {
    row: usize,
    /// Where the line starts in the row.
    line: usize,
    /// How much of it lies before the input, inside and after.
    before: usize,
    inside: usize,
    after: usize,
    /// Where the first place inside lies in the input; neighbours are `stride[2]` apart.
    input: usize,
}

impl Window {
    /// The elements under the window.
    pub(super) fn rows(&self) -> usize {
        self.channels * self.kernel.iter().product::<usize>()
    }

    /// The number of windows.
    pub(super) fn places(&self) -> usize {
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
            lines: 0..depth * height,
            columns: 0..width,
            places: 0..self.places(),
        }
    }

    /// All windows, in tiles of at most `places` or one line if that is longer; parts of lines that
    /// are longer than `longest`. There is at least one window.
    pub(super) fn tiles(&self, places: usize, longest: usize) -> impl Iterator<Item = Tile> {
        let [depth, height, width] = self.output;
        let (lines, part) = (depth * height, width.min(longest));
        let step = if part < width {
            1
        } else {
            (places / width).max(1)
        };
        (0..lines).step_by(step).flat_map(move |line| {
            let lines = line..(line + step).min(lines);
            (0..width).step_by(part).map(move |start| {
                let columns = start..(start + part).min(width);
                let first = lines.start * width + columns.start;
                let places = first..first + lines.len() * columns.len();
                Tile {
                    lines: lines.clone(),
                    columns,
                    places,
                }
            })
        })
    }

    /// For kernel place `k` in dimension `d`: the output range whose input place lies inside,
    /// with the input place of its start.
    fn inside(&self, d: usize, k: usize) -> (Range<usize>, usize) {
        let shift = k * self.dilation[d];
        let first = self.padding[d]
            .saturating_sub(shift)
            .div_ceil(self.stride[d]);
        // One past the last output place whose input place is below the input's size.
        let end = (self.input[d] + self.padding[d])
            .saturating_sub(shift)
            .div_ceil(self.stride[d]);
        let end = end.min(self.output[d]);
        if first >= end {
            return (end..end, 0);
        }
        (first..end, first * self.stride[d] + shift - self.padding[d])
    }

    /// Calls `f` with every line of the tile in every row, row after row.
    fn segments(&self, tile: &Tile, mut f: impl FnMut(Segment)) {
        let [kd, kh, kw] = self.kernel;
        let [_, oh, _] = self.output;
        let [id, ih, iw] = self.input;
        let Tile { lines, columns, .. } = tile;
        if lines.is_empty() || columns.is_empty() {
            return;
        }
        let (first, last) = (lines.start / oh, (lines.end - 1) / oh);
        let mut row = 0;
        for channel in 0..self.channels {
            for a in 0..kd {
                let (depths, di) = self.inside(0, a);
                for b in 0..kh {
                    let (heights, hi) = self.inside(1, b);
                    for c in 0..kw {
                        let (widths, wi) = self.inside(2, c);
                        let start = widths.start.clamp(columns.start, columns.end);
                        let end = widths.end.clamp(start, columns.end);
                        let wi = wi + start.saturating_sub(widths.start) * self.stride[2];
                        let mut line = 0;
                        for d in first..=last {
                            let h0 = lines.start.saturating_sub(d * oh);
                            let h1 = (lines.end - d * oh).min(oh);
                            for h in h0..h1 {
                                let mut segment = Segment {
                                    row,
                                    line,
                                    before: columns.len(),
                                    inside: 0,
                                    after: 0,
                                    input: 0,
                                };
                                if depths.contains(&d) && heights.contains(&h) && start < end {
                                    let z = di + (d - depths.start) * self.stride[0];
                                    let y = hi + (h - heights.start) * self.stride[1];
                                    segment.before = start - columns.start;
                                    segment.inside = end - start;
                                    segment.after = columns.end - end;
                                    segment.input = ((channel * id + z) * ih + y) * iw + wi;
                                }
                                f(segment);
                                line += columns.len();
                            }
                        }
                        row += 1;
                    }
                }
            }
        }
    }

    /// Calls `f` with every part of a line of the tile that lies inside the input: its row, where it
    /// starts in the row and in the input, and its length.
    pub(super) fn inner_segments(
        &self,
        tile: &Tile,
        mut f: impl FnMut(usize, usize, usize, usize),
    ) {
        self.segments(tile, |s| {
            if s.inside > 0 {
                f(s.row, s.line + s.before, s.input, s.inside);
            }
        });
    }

    /// Writes the columns of a tile, `[rows, places]`, with zeros for the padding.
    pub(super) fn unfold<T: Float>(&self, input: &[T], tile: &Tile, columns: &mut [T]) {
        let (width, step) = (tile.places.len(), self.stride[2]);
        self.segments(tile, |s| {
            let start = s.row * width + s.line;
            let line = &mut columns[start..start + s.before + s.inside + s.after];
            let (before, line) = line.split_at_mut(s.before);
            let (line, after) = line.split_at_mut(s.inside);
            before.fill(T::zero());
            copy_steps(&input[s.input..], step, line);
            after.fill(T::zero());
        });
    }

    /// Adds the columns of a tile to the places that they came from.
    pub(super) fn fold<T: Float>(&self, columns: &[T], tile: &Tile, input: &mut [T]) {
        let (width, step) = (tile.places.len(), self.stride[2]);
        self.inner_segments(tile, |row, line, place, length| {
            let from = row * width + line;
            add_steps(
                &columns[from..from + length],
                |v| v,
                step,
                &mut input[place..],
            );
        });
    }
}

/// Every `step`-th element of `from`, as many as `to` holds.
fn copy_steps<T: Copy>(from: &[T], step: usize, to: &mut [T]) {
    if step == 1 {
        to.copy_from_slice(&from[..to.len()]);
    } else {
        for (to, from) in to.iter_mut().zip(from.iter().step_by(step)) {
            *to = *from;
        }
    }
}

/// Adds `f` of each element to every `step`-th of `to`.
#[inline]
pub(super) fn add_steps<T: Float>(from: &[T], f: impl Fn(T) -> T, step: usize, to: &mut [T]) {
    if step == 1 {
        for (to, &from) in to.iter_mut().zip(from) {
            *to = to.plus(f(from));
        }
    } else {
        for (to, &from) in to.iter_mut().step_by(step).zip(from) {
            *to = to.plus(f(from));
        }
    }
}

pub(super) fn unfold(op: UnfoldOp, x: &Operand, geometry: &UnfoldGeometry) -> Result<Storage> {
    let UnfoldGeometry {
        input,
        output,
        kernel,
        stride,
        padding,
        dilation,
    } = geometry;
    let &[batch, channels, ref size @ ..] = &**input else {
        return Err(input.error("im2col", "[batch, channels, size…]"));
    };
    let window = Window {
        channels,
        input: three(size, 1),
        output: three(output, 1),
        kernel: three(kernel, 1),
        stride: three(stride, 1),
        padding: three(padding, 0),
        dilation: three(dilation, 1),
    };
    let kernel = Unfold {
        op,
        x,
        batch,
        window,
    };
    run_float(x.storage.dtype(), kernel)
}

struct Unfold<'a> {
    op: UnfoldOp,
    x: &'a Operand,
    batch: usize,
    window: Window,
}

impl FloatKernel for Unfold<'_> {
    const NAME: &'static str = "im2col";
    type Output = Storage;

    fn run<T: Float>(self) -> Result<Storage> {
        let Self {
            op,
            x,
            batch,
            window,
        } = self;
        let x = to_cow::<T>(x)?;
        let (columns, input) = (window.rows() * window.places(), window.input_len());
        let (from, to) = match op {
            UnfoldOp::Unfold => (input, columns),
            UnfoldOp::Fold => (columns, input),
        };
        room::<T>(batch * to)?;
        let mut out = vec![T::zero(); batch * to];
        if columns == 0 || input == 0 {
            return Ok(CpuStorage::wrap(out));
        }
        let tile = window.whole();
        for (from, to) in x.chunks_exact(from).zip(out.chunks_exact_mut(to)) {
            match op {
                UnfoldOp::Unfold => window.unfold(from, &tile, to),
                UnfoldOp::Fold => window.fold(from, &tile, to),
            }
        }
        Ok(CpuStorage::wrap(out))
    }
}
