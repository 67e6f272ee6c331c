//! The windows of some samples as a factor: the elements that one element of the kernel reads, for all positions of the
//! output, are a row.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::super::aligned_vec::Workspace;
use super::super::conv_planes::{Planes, copy_line};
use super::super::float::Float;
use super::super::gemm::{Factor, Lines};
use super::super::simd::{Level, Loop, run_at_best_level};
use super::super::transpose::columns_of_lines;
use super::super::window::Window;

/// Where the windows of a sample are read: in its planes, or in the sample itself if each window is one position of it.
pub(in super::super) struct Source {
    planes: Option<Planes>,
    /// The number of elements of a sample, and of what is read for it.
    sample: usize,
    len: usize,
    /// Where the first element lies that each element of the kernel reads, and each line of the output from there.
    starts: Vec<usize>,
    lines: Vec<usize>,
    /// The positions of a line, and of the whole output.
    width: usize,
    positions: usize,
}

impl Source {
    /// Nothing if planes would be much larger than what lies in them.
    pub(super) fn planes(window: &Window) -> Option<Self> {
        let mut planes = Planes::new(window)?;
        Some(Self {
            sample: window.input_len(),
            len: planes.len,
            starts: std::mem::take(&mut planes.starts),
            lines: std::mem::take(&mut planes.outputs),
            width: window.output[2],
            positions: window.positions(),
            planes: Some(planes),
        })
    }

    /// Samples of so many channels, whose positions are the windows.
    pub(in super::super) fn samples(channels: usize, positions: usize) -> Self {
        let len = channels * positions;
        Self {
            planes: None,
            sample: len,
            len,
            starts: (0..len).step_by(positions).collect(),
            lines: vec![0],
            width: positions,
            positions,
        }
    }

    /// Memory for the planes of some samples, with zeros.
    pub(super) fn room<'a, T: Float>(
        &self,
        samples: usize,
        memory: &'a mut Workspace<T>,
    ) -> &'a mut [T] {
        let planes = if self.planes.is_some() { samples } else { 0 };
        let room = memory.of(planes * self.len);
        room.fill(T::zero());
        room
    }

    /// The windows over some samples, whose planes are written to `room`.
    pub(super) fn windows<'a, T: Float>(
        &'a self,
        input: &'a [T],
        room: &'a mut [T],
    ) -> Windows<'a, T> {
        let samples = input.chunks_exact(self.sample);
        let count = samples.len();
        let data = match &self.planes {
            None => input,
            Some(planes) => {
                for (input, room) in samples.zip(room.chunks_exact_mut(self.len)) {
                    planes.fill(input, room);
                }
                room
            }
        };
        Windows {
            source: self,
            data,
            samples: count,
        }
    }
}

/// The windows of some samples, side by side.
pub(super) struct Windows<'a, T> {
    source: &'a Source,
    /// What is read for each sample.
    data: &'a [T],
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
        let (start, end, mut next) = (positions.start, positions.end, positions.start);
        std::iter::from_fn(move || {
            let left = end.checked_sub(next).filter(|&left| left > 0)?;
            let Source {
                len,
                lines,
                width,
                positions,
                ..
            } = self.source;
            let (sample, position) = (next / positions, next % positions);
            let (line, column) = (position / width, position % width);
            let segment = Segment {
                from: sample * len + lines[line] + column,
                to: next - start,
                count: left.min(width - column),
            };
            next += segment.count;
            Some(segment)
        })
    }
}

impl<T: Float> Factor<T> for Windows<'_, T> {
    fn rows(&self) -> usize {
        self.source.starts.len()
    }

    fn columns(&self) -> usize {
        self.samples * self.source.positions
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
            starts: &self.source.starts[rows],
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
        let starts = &self.source.starts[rows];
        let len = positions.len().next_multiple_of(width) * starts.len();
        // Whole pieces are copied, the last of them beyond the end.
        let copy = copy.of(len + LONGEST_PIECE);
        let mut segments = Vec::with_capacity(width);
        for (panel, first) in positions.clone().step_by(width).enumerate() {
            segments.clear();
            segments.extend(self.segments(first..positions.end.min(first + width)));
            let out = &mut copy[panel * starts.len() * width..];
            let panel = CopyPanel {
                data: self.data,
                starts,
                segments: &segments,
                width,
                out: &mut out[..starts.len() * width + LONGEST_PIECE],
            };
            match segments.iter().map(|segment| segment.count).max() {
                None | Some(0..=4) => run_at_best_level(InPieces::<_, 4>(panel)),
                Some(5..=8) => run_at_best_level(InPieces::<_, 8>(panel)),
                Some(9..=16) => run_at_best_level(InPieces::<_, 16>(panel)),
                Some(_) => run_at_best_level(InPieces::<_, LONGEST_PIECE>(panel)),
            }
        }
        &copy[..len]
    }
}

/// The windows as rows.
pub(super) struct Transposed<'a, T>(pub(super) &'a Windows<'a, T>);

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

/// The number of elements of a piece in which the longest segments are copied.
const LONGEST_PIECE: usize = 32;

/// A panel of `width` positions, and what is behind it.
struct CopyPanel<'a, T> {
    data: &'a [T],
    starts: &'a [usize],
    segments: &'a [Segment],
    width: usize,
    out: &'a mut [T],
}

/// A panel whose segments are copied as so many elements, if they are not longer.
struct InPieces<'a, T, const PIECE: usize>(CopyPanel<'a, T>);

impl<T: Float, const PIECE: usize> Loop for InPieces<'_, T, PIECE> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let CopyPanel {
            data,
            starts,
            segments,
            width,
            out,
        } = self.0;
        for (row, &start) in starts.iter().enumerate() {
            for segment in segments {
                let from = &data[start + segment.from..];
                let to = &mut out[row * width + segment.to..];
                // What lies beyond the segment is overwritten by the next.
                match (to.first_chunk_mut::<PIECE>(), from.first_chunk()) {
                    (Some(to), Some(from)) if segment.count <= PIECE => *to = *from,
                    _ => copy_line(&from[..segment.count], &mut to[..segment.count]),
                }
            }
        }
    }
}
