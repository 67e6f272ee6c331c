//! Lines of an output, which are gathered from tiles.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use super::super::aligned_vec::Workspace;
use super::super::conv_planes::copy_line;
use super::super::float::Float;
use super::super::simd::{Loop, run_at_best_level};
use super::super::transpose::columns_of_lines;
use super::phase::Phase;
use super::shapes::{MOST_ROWS, MOST_SUMS, Shape};

/// The elements of all channels that are gathered, if a line is not longer: each channel is written in long stretches.
const GATHERED: usize = 1 << 14;

/// Lines of one phase, or of two beside each other, in the channels of some panels, as far as they are computed.
pub(super) struct FinishedLines<'a, T> {
    phase: &'a Phase,
    /// The number of phases, whose columns take turns in lines.
    phases: usize,
    /// The positions of a channel of the output.
    positions: usize,
    /// For each phase the sums of a tile, its rows of so many channels one after the other.
    sums: &'a mut [T],
    channels: usize,
    /// The gathered lines of each channel, so many elements apart.
    gathered: &'a mut [T],
    pitch: usize,
    /// The most lines, and how many there are.
    most: usize,
    count: usize,
    /// The slice and the line of the first of them.
    slice: usize,
    line: usize,
}

impl<'a, T: Float> FinishedLines<'a, T> {
    pub(super) fn new(
        phase: &'a Phase,
        [phases, channels]: [usize; 2],
        positions: usize,
        memory: &'a mut Workspace<T>,
    ) -> Self {
        let (tile_lines, width) = (phase.shape.lines, phases * phase.size[2]);
        let channels = channels.next_multiple_of(phase.shape.channels::<T>());
        let groups = GATHERED / (channels * tile_lines * width);
        let most = groups.max(1) * tile_lines;
        // Tiles are wider than what is needed of the last, and whole vectors are written.
        let pitch = most * width + phases * MOST_ROWS;
        let memory = memory.of(phases * MOST_SUMS + channels * pitch);
        let (sums, gathered) = memory.split_at_mut(phases * MOST_SUMS);
        Self {
            phase,
            phases,
            positions,
            sums,
            channels: phase.shape.channels::<T>(),
            gathered,
            pitch,
            most,
            count: 0,
            slice: 0,
            line: 0,
        }
    }

    /// The elements of a line.
    fn width(&self) -> usize {
        self.phases * self.phase.size[2]
    }

    /// Where the next tile of each phase is written.
    pub(super) fn sums(&mut self) -> impl Iterator<Item = &mut [T]> {
        self.sums.chunks_exact_mut(MOST_SUMS)
    }

    /// Takes the tiles of a panel, from a column on.
    pub(super) fn take_tile(&mut self, panel: usize, column: usize) {
        let (Shape { lines, columns, .. }, phases) = (self.phase.shape, self.phases);
        let (width, column, tile_width) = (self.width(), phases * column, phases * columns);
        let first = panel * self.channels * self.pitch + self.count * width + column;
        // What lies beyond the end of a line is overwritten by the next, unless a tile further left has written that; and whole
        // squares are transposed faster.
        let rows = match lines == 1 || width <= tile_width {
            true => tile_width.next_multiple_of(8),
            false => tile_width.min(width - column),
        };
        for line in 0..lines {
            // Divided by a number that the compiler knows.
            let row = |i: usize| {
                let (phase, row) = match phases {
                    2 => (i % 2, i / 2),
                    _ => (0, i),
                };
                let row = phase * MOST_SUMS + (line * columns + row) * self.channels;
                &self.sums[row..][..self.channels]
            };
            let out = &mut self.gathered[first + line * width..];
            columns_of_lines((0..rows).map(row), out, self.pitch);
        }
    }

    /// So many lines are whole.
    pub(super) fn finish(&mut self, lines: usize, out: &mut [T]) {
        self.count += lines;
        if self.count + self.phase.shape.lines > self.most {
            self.write(out);
        }
    }

    pub(super) fn start_slice(&mut self, slice: usize) {
        (self.slice, self.line) = (slice, 0);
    }

    /// Writes what is gathered to all channels.
    pub(super) fn write(&mut self, out: &mut [T]) {
        let [slice_step, line_step, column_step] = self.phase.steps;
        run_at_best_level(WriteLines {
            gathered: self.gathered,
            pitch: self.pitch,
            width: self.width(),
            lines: self.count,
            positions: self.positions,
            first: self.phase.first + self.slice * slice_step + self.line * line_step,
            line_step,
            column_step: column_step / self.phases,
            out,
        });
        self.line += self.count;
        self.count = 0;
    }
}

struct WriteLines<'a, T> {
    gathered: &'a [T],
    pitch: usize,
    width: usize,
    lines: usize,
    positions: usize,
    first: usize,
    line_step: usize,
    column_step: usize,
    out: &'a mut [T],
}

impl<T: Float> Loop for WriteLines<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        if self.lines == 0 {
            return;
        }
        let channels = self.gathered.chunks_exact(self.pitch);
        let channels = channels.zip(self.out.chunks_exact_mut(self.positions));
        for (lines, out) in channels {
            let lines = &lines[..self.lines * self.width];
            let out = &mut out[self.first..];
            if self.column_step == 1 && self.line_step == self.width {
                copy_line(lines, &mut out[..lines.len()]);
                continue;
            }
            for (i, line) in lines.chunks_exact(self.width).enumerate() {
                let out = &mut out[i * self.line_step..];
                if self.column_step == 1 {
                    copy_line(line, &mut out[..self.width]);
                    continue;
                }
                let out = out.iter_mut().step_by(self.column_step);
                out.zip(line).for_each(|(out, &sum)| *out = sum);
            }
        }
    }
}
