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
use crate::zip::zip_mut2;

/// The elements of all channels that are gathered, if a line is not longer: they stay in the first-level cache, and
/// each channel is written in long stretches.
const GATHERED: usize = 1 << 12;

/// Lines of one phase, or of two beside each other, in the channels of some panels, as far as they are computed.
pub(super) struct FinishedLines<'a, T> {
    phase: &'a Phase,
    /// The positions of a channel of the output.
    positions: usize,
    /// The sums of a tile, its rows of so many channels one after the other.
    sums: &'a mut [T],
    channels: usize,
    /// The gathered lines of each channel, so many elements apart, and those of the second phase behind them.
    gathered: &'a mut [T],
    pitch: usize,
    phase_len: usize,
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
        let (tile_lines, width) = (phase.shape.lines, phase.size[2]);
        let channels = channels.next_multiple_of(phase.shape.channels::<T>());
        let groups = GATHERED / (phases * channels * tile_lines * width);
        let most = groups.max(1) * tile_lines;
        // Tiles are wider than what is needed of the last, and whole vectors are written.
        let pitch = most * width + MOST_ROWS;
        let memory = memory.of(MOST_SUMS + phases * channels * pitch);
        let (sums, gathered) = memory.split_at_mut(MOST_SUMS);
        Self {
            phase,
            positions,
            sums,
            channels: phase.shape.channels::<T>(),
            gathered,
            pitch,
            phase_len: channels * pitch,
            most,
            count: 0,
            slice: 0,
            line: 0,
        }
    }

    /// Where the next tile is written.
    pub(super) fn sums(&mut self) -> &mut [T] {
        self.sums
    }

    /// Takes the tile of a phase and a panel, from a column on.
    pub(super) fn take_tile(&mut self, [phase, panel]: [usize; 2], column: usize) {
        let (Shape { lines, columns, .. }, width) = (self.phase.shape, self.phase.size[2]);
        let panel = phase * self.phase_len + panel * self.channels * self.pitch;
        let first = panel + self.count * width + column;
        // Of one line, what lies beyond its end is overwritten by the next; and whole squares are transposed faster.
        let rows = match lines {
            1 => columns.next_multiple_of(8),
            _ => columns.min(width - column),
        };
        for (line, sums) in self
            .sums
            .chunks(columns * self.channels)
            .take(lines)
            .enumerate()
        {
            let rows = match lines {
                1 => self.sums.chunks_exact(self.channels).take(rows),
                _ => sums.chunks_exact(self.channels).take(rows),
            };
            columns_of_lines(rows, &mut self.gathered[first + line * width..], self.pitch);
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
        let (gathered, beside) = self.gathered.split_at(self.phase_len);
        run_at_best_level(WriteLines {
            gathered,
            beside,
            pitch: self.pitch,
            width: self.phase.size[2],
            lines: self.count,
            positions: self.positions,
            first: self.phase.first + self.slice * slice_step + self.line * line_step,
            line_step,
            column_step,
            out,
        });
        self.line += self.count;
        self.count = 0;
    }
}

struct WriteLines<'a, T> {
    gathered: &'a [T],
    /// The same of a second phase, whose positions are to the right of those of the first.
    beside: &'a [T],
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
        for (channel, (lines, out)) in channels.enumerate() {
            let lines = &lines[..self.lines * self.width];
            let out = &mut out[self.first..];
            if self.column_step == 1 && self.line_step == self.width {
                copy_line(lines, &mut out[..lines.len()]);
                continue;
            }
            if !self.beside.is_empty() {
                let beside = &self.beside[channel * self.pitch..];
                let pairs = lines
                    .chunks_exact(self.width)
                    .zip(beside.chunks_exact(self.width));
                for (i, (line, beside)) in pairs.enumerate() {
                    let out = &mut out[i * self.line_step..][..2 * self.width];
                    let out = out.as_chunks_mut().0;
                    for ([to, to_beside], &v, &v_beside) in zip_mut2(out, line, beside) {
                        (*to, *to_beside) = (v, v_beside);
                    }
                }
                continue;
            }
            for (i, line) in lines.chunks_exact(self.width).enumerate() {
                let out = out[i * self.line_step..]
                    .iter_mut()
                    .step_by(self.column_step);
                out.zip(line).for_each(|(out, &sum)| *out = sum);
            }
        }
    }
}
