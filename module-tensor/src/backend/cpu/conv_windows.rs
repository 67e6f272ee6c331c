//! The windows of a convolution as a factor of a product: the elements that one element of the kernel reads, for all
//! positions of the output, are a row.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::ConvOp;
use super::aligned_vec::Workspace;
use super::conv::ConvSizes;
use super::conv_planes::{Planes, copy_line};
use super::float::Float;
use super::gemm::{Factor, Lines, Matrix, MatrixMut, multiply_factors};
use super::simd::{Level, Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::transpose::columns_of_lines;
use crate::Result;

/// The approximate number of windows of a product: those of small images are joined.
const WIDE: usize = 256;
/// Images with more windows are worked on one by one.
const SMALL: usize = 128;

/// The windows of some samples, side by side.
struct Windows<'a, T> {
    planes: &'a Planes,
    /// The planes of each sample.
    data: &'a [T],
    /// The positions of one sample, and of a line of it.
    positions: usize,
    width: usize,
    samples: usize,
}

/// Positions that follow each other in a line of the output.
struct Segment {
    /// Where the planes have them, from where a row starts.
    from: usize,
    /// Where they stand among the positions asked for.
    to: usize,
    count: usize,
}

impl<T> Windows<'_, T> {
    fn segments(&self, positions: Range<usize>) -> impl Iterator<Item = Segment> {
        let mut next = positions.start;
        std::iter::from_fn(move || {
            let left = positions.end.checked_sub(next).filter(|&left| left > 0)?;
            let (sample, position) = (next / self.positions, next % self.positions);
            let (line, column) = (position / self.width, position % self.width);
            let segment = Segment {
                from: sample * self.planes.len + self.planes.outputs[line] + column,
                to: next - positions.start,
                count: left.min(self.width - column),
            };
            next += segment.count;
            Some(segment)
        })
    }
}

impl<T: Float> Factor<T> for Windows<'_, T> {
    fn rows(&self) -> usize {
        self.planes.starts.len()
    }

    fn columns(&self) -> usize {
        self.samples * self.positions
    }

    fn lines<'a>(
        &'a self,
        _: Level,
        [rows, positions]: [Range<usize>; 2],
        copy: &'a mut Workspace<T>,
    ) -> Lines<'a, T> {
        let len = positions.len();
        let copy = copy.of(rows.len() * len);
        run_at_best_level(CopyLines {
            data: self.data,
            starts: &self.planes.starts[rows],
            segments: &self.segments(positions).collect::<Vec<_>>(),
            len,
            out: copy,
        });
        Lines::new(copy, len)
    }

    fn panels<'a>(
        &'a self,
        _: Level,
        [rows, positions]: [Range<usize>; 2],
        width: usize,
        copy: &'a mut Workspace<T>,
    ) -> &'a [T] {
        let starts = &self.planes.starts[rows];
        let len = positions.len().next_multiple_of(width) * starts.len();
        // Whole vectors are copied, the last of them beyond the end.
        let copy = copy.of(len + width);
        let mut segments = Vec::with_capacity(width);
        for (panel, first) in positions.clone().step_by(width).enumerate() {
            segments.clear();
            segments.extend(self.segments(first..positions.end.min(first + width)));
            let (data, segments) = (self.data, &*segments);
            let out = &mut copy[panel * starts.len() * width..][..starts.len() * width + width];
            match width {
                2 => run_at_best_level(CopyPanel::<T, 2> {
                    data,
                    starts,
                    segments,
                    out,
                }),
                4 => run_at_best_level(CopyPanel::<T, 4> {
                    data,
                    starts,
                    segments,
                    out,
                }),
                8 => run_at_best_level(CopyPanel::<T, 8> {
                    data,
                    starts,
                    segments,
                    out,
                }),
                16 => run_at_best_level(CopyPanel::<T, 16> {
                    data,
                    starts,
                    segments,
                    out,
                }),
                _ => run_at_best_level(CopyPanel::<T, 32> {
                    data,
                    starts,
                    segments,
                    out,
                }),
            }
        }
        &copy[..len]
    }
}

/// The windows as rows.
struct Transposed<'a, T>(&'a Windows<'a, T>);

impl<T: Float> Factor<T> for Transposed<'_, T> {
    fn rows(&self) -> usize {
        self.0.columns()
    }

    fn columns(&self) -> usize {
        self.0.rows()
    }

    fn lines<'a>(
        &'a self,
        level: Level,
        [positions, rows]: [Range<usize>; 2],
        copy: &'a mut Workspace<T>,
    ) -> Lines<'a, T> {
        let (mut memory, len) = (Workspace::new(), rows.len());
        let copy = copy.of(positions.len() * len);
        let lines = self.0.lines(level, [rows, positions], &mut memory);
        columns_of_lines((0..len).map(|row| lines.line(row)), copy, len);
        Lines::new(copy, len)
    }

    fn panels<'a>(
        &'a self,
        level: Level,
        [positions, rows]: [Range<usize>; 2],
        width: usize,
        copy: &'a mut Workspace<T>,
    ) -> &'a [T] {
        let (mut memory, len) = (Workspace::new(), rows.len());
        let depth = positions.len();
        let copy = copy.of(len.next_multiple_of(width) * depth);
        copy[len / width * width * depth..].fill(T::zero());
        let lines = self.0.lines(level, [rows, positions], &mut memory);
        for (i, panel) in copy.chunks_exact_mut(width * depth).enumerate() {
            let rows = i * width..len.min((i + 1) * width);
            columns_of_lines(rows.map(|row| lines.line(row)), panel, width);
        }
        copy
    }
}

struct CopyLines<'a, T> {
    data: &'a [T],
    starts: &'a [usize],
    segments: &'a [Segment],
    len: usize,
    out: &'a mut [T],
}

impl<T: Float> Loop for CopyLines<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let lines = self.out.chunks_exact_mut(self.len);
        for (line, &start) in lines.zip(self.starts) {
            for segment in self.segments {
                let from = &self.data[start + segment.from..][..segment.count];
                copy_line(from, &mut line[segment.to..][..segment.count]);
            }
        }
    }
}

struct CopyPanel<'a, T, const WIDTH: usize> {
    data: &'a [T],
    starts: &'a [usize],
    segments: &'a [Segment],
    out: &'a mut [T],
}

impl<T: Float, const WIDTH: usize> Loop for CopyPanel<'_, T, WIDTH> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (row, &start) in self.starts.iter().enumerate() {
            for segment in self.segments {
                let from = self.data[start + segment.from..].first_chunk::<WIDTH>();
                let to = self.out[row * WIDTH + segment.to..].first_chunk_mut::<WIDTH>();
                // What lies beyond the segment is overwritten by the next.
                if let (Some(to), Some(from)) = (to, from) {
                    *to = *from;
                }
            }
        }
    }
}

impl ConvSizes {
    /// The output, or the gradient of the weight, by products with windows; `out` is overwritten, if there are planes.
    pub(super) fn run_windows<T: Float>(
        &self,
        op: ConvOp,
        [input, other]: [&[T]; 2],
        out: &mut [T],
    ) -> Result<bool> {
        let Some(planes) = &Planes::new(&self.window) else {
            return Ok(false);
        };
        let samples = self.samples_of_product();
        match op {
            ConvOp::Weight => self.weight_gradient(planes, samples, input, other, out)?,
            _ => self.forward(planes, samples, input, other, out)?,
        }
        Ok(true)
    }

    /// How many samples one product has: small images are joined.
    pub(super) fn samples_of_product(&self) -> usize {
        let positions = self.window.positions();
        match positions <= SMALL && self.groups == 1 {
            true => WIDE.div_ceil(positions).min(self.batch),
            false => 1,
        }
    }

    /// So many samples at a time; there is one group if they are more than one.
    fn forward<T: Float>(
        &self,
        planes: &Planes,
        samples: usize,
        input: &[T],
        weight: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (o, positions, rows) = (
            self.out_channels,
            self.window.positions(),
            self.window.rows(),
        );
        let (input_len, len) = (samples * self.window.input_len(), samples * o * positions);
        let steps = (len * rows) / 32;
        let count = (self.batch * self.groups).div_ceil(samples);
        parallel_for(count, steps, Items(out, len), &|range, out| {
            let mut memory = [Workspace::new(), Workspace::new()];
            let [data, joined] = &mut memory;
            let data = data.of(samples * planes.len);
            data.fill(T::zero());
            for (block, out) in range.zip(out.0.chunks_mut(len)) {
                let input = &input[block * input_len..];
                let input = &input[..input_len.min(input.len())];
                let windows = self.windows(planes, input, data);
                let weight = &weight[block % self.groups * o * rows..][..o * rows];
                let weight = Matrix::new(weight, o);
                if samples == 1 {
                    multiply_factors(&weight, &windows, false, MatrixMut::new(out, o));
                    continue;
                }
                let joined = joined.of(out.len());
                multiply_factors(&weight, &windows, false, MatrixMut::new(joined, o));
                for (sample, out) in out.chunks_exact_mut(o * positions).enumerate() {
                    let channels = joined.chunks_exact(windows.columns());
                    for (out, channel) in out.chunks_exact_mut(positions).zip(channels) {
                        copy_line(&channel[sample * positions..][..positions], out);
                    }
                }
            }
            Ok(())
        })
    }

    fn weight_gradient<T: Float>(
        &self,
        planes: &Planes,
        samples: usize,
        input: &[T],
        grad: &[T],
        out: &mut [T],
    ) -> Result<()> {
        let (o, positions, rows) = (
            self.out_channels,
            self.window.positions(),
            self.window.rows(),
        );
        let (groups, count) = (self.groups, self.batch.div_ceil(samples));
        let steps = (self.batch * o * positions).saturating_mul(rows) / 32;
        // The samples of each group one after the other, so that they are added in one order.
        parallel_for(groups, steps, Items(out, o * rows), &|range, mut out| {
            let mut memory = [const { Workspace::new() }; 2];
            let [data, joined] = &mut memory;
            let data = data.of(samples * planes.len);
            data.fill(T::zero());
            for (i, group) in range.enumerate() {
                for step in 0..count {
                    let block = step * samples * groups + group;
                    let here = samples.min(self.batch - step * samples);
                    let input = &input[block * self.window.input_len()..];
                    let input = &input[..here * self.window.input_len()];
                    let windows = self.windows(planes, input, data);
                    let grad = &grad[block * o * positions..][..here * o * positions];
                    let grad = match here {
                        1 => grad,
                        _ => join(grad, o, positions, joined.of(grad.len())),
                    };
                    let (grad, out) = (Matrix::new(grad, o), MatrixMut::new(out.at(i), o));
                    multiply_factors(&grad, &Transposed(&windows), step > 0, out);
                }
            }
            Ok(())
        })
    }

    /// The windows over the inputs of some samples, which are written to `data`.
    fn windows<'a, T: Float>(
        &self,
        planes: &'a Planes,
        input: &[T],
        data: &'a mut [T],
    ) -> Windows<'a, T> {
        let samples = input.chunks_exact(self.window.input_len());
        let count = samples.len();
        for (input, data) in samples.zip(data.chunks_exact_mut(planes.len)) {
            planes.fill(input, data);
        }
        Windows {
            planes,
            data,
            positions: self.window.positions(),
            width: self.window.output[2],
            samples: count,
        }
    }
}

/// `[samples, channels, positions]` as `[channels, samples · positions]`.
pub(super) fn join<'a, T: Float>(
    x: &[T],
    channels: usize,
    positions: usize,
    to: &'a mut [T],
) -> &'a [T] {
    let joined = x.len() / channels;
    for (sample, x) in x.chunks_exact(channels * positions).enumerate() {
        for (channel, x) in x.chunks_exact(positions).enumerate() {
            copy_line(
                x,
                &mut to[channel * joined + sample * positions..][..positions],
            );
        }
    }
    to
}
