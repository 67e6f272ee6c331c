//! Max pooling as passes along one dimension after the other. The last dimension comes first, which keeps the order
//! in which the elements of a window meet.

mod members;
mod side_by_side;

pub(super) use members::SIDE_BY_SIDE;
pub(super) use side_by_side::{SideBySide, SmallPasses};

use super::aligned_vec::Workspace;
use super::interleave::split_pairs;
use super::max_lines::Line;
use super::max_loops::{
    Locate, Maxima, MaximaMut, Meet, MeetPairs, MeetRows, MeetTwoMore, Offset, greater,
};
use super::memory::check_allocatable;
use super::number::Number;
use super::pool_windows::Windows;
use super::regular_windows::RegularWindows;
use super::simd::run_at_best_level;
use crate::Result;

/// The passes from a plane of the input to one of the output.
pub(super) struct Passes {
    passes: Vec<Pass>,
    /// The number of elements of the largest plane on the way.
    largest: usize,
    /// The most by which a maximum lies behind the start of its window.
    reach: usize,
    /// Where the windows of each row of the output start, and those of each column; the sum is a position in the
    /// plane.
    rows: Vec<usize>,
    columns: Vec<i64>,
}

enum Pass {
    Columns(Columns),
    Rows(Rows),
}

/// Maxima of columns in each row.
struct Columns {
    /// The number of rows.
    rows: usize,
    /// The number of elements from one row to the next, before and after.
    from: usize,
    to: usize,
    line: Line,
    /// The windows that are computed side by side; the others are computed one by one.
    regular: Option<RegularWindows>,
}

/// Maxima of rows in each block of rows.
struct Rows {
    /// The number of blocks, and that of the rows of one.
    blocks: usize,
    size: usize,
    /// The number of elements from one row to the next before, and those of a row that count.
    from: usize,
    columns: usize,
    /// The first row and the number of rows of each window.
    windows: Vec<(usize, usize)>,
    /// The distance between the rows of a window, and that of their elements in the plane.
    step: usize,
    distance: usize,
}

/// Memory for the planes on the way, which are computed one after the other.
pub(super) struct Scratch<T: super::Element, O> {
    values: Workspace<T>,
    offsets: Vec<O>,
    zeros: Vec<O>,
}

impl Passes {
    /// The passes along the width, the height and the depth.
    pub(super) fn new(depths: &Windows, heights: &Windows, widths: &Windows) -> Self {
        let rows = depths.size * heights.size;
        let mut passes = Columns::all(widths, rows);
        let widest = passes.iter().map(|pass| pass.to).max().unwrap_or(0);
        let pitch = passes.last().map_or(0, |pass| pass.to);
        let columns = widths.ranges.len();
        let slice = heights.ranges.len() * columns;
        let slices = depths.size.max(depths.ranges.len());
        let mut passes: Vec<_> = passes.drain(..).map(Pass::Columns).collect();
        // What is behind the last column is left out.
        if pitch != columns || !heights.are_single() {
            passes.push(Pass::Rows(Rows::new(
                depths.size,
                heights,
                pitch,
                columns,
                widths.size,
            )));
        }
        if !depths.are_single() {
            let distance = heights.size * widths.size;
            passes.push(Pass::Rows(Rows::new(1, depths, slice, slice, distance)));
        }
        let mut starts = Vec::with_capacity(depths.ranges.len() * heights.ranges.len());
        for depth in &depths.ranges {
            for row in &heights.ranges {
                starts.push((depth.start * heights.size + row.start) * widths.size);
            }
        }
        let reach = |windows: &Windows| windows.ranges.iter().map(|range| range.len() - 1).max();
        let [deepest, highest, widest_window] =
            [depths, heights, widths].map(|windows| reach(windows).unwrap_or(0));
        Self {
            passes,
            reach: (deepest * heights.size + highest) * widths.size + widest_window,
            largest: (rows * widest.max(widths.size)).max(slice * slices),
            rows: starts,
            // Less than the size of a plane.
            columns: widths
                .ranges
                .iter()
                .map(|range| range.start as i64)
                .collect(),
        }
    }

    /// The most by which a maximum lies behind the start of its window.
    pub(super) fn reach(&self) -> usize {
        self.reach
    }

    /// Memory for the planes on the way.
    pub(super) fn scratch<T: Number, O: Offset>(&self) -> Result<Scratch<T, O>> {
        check_allocatable::<T>(self.largest.saturating_mul(4))?;
        check_allocatable::<O>(self.largest.saturating_mul(5))?;
        Ok(Scratch {
            values: Workspace::new(),
            offsets: vec![O::default(); 4 * self.largest],
            zeros: vec![O::default(); self.largest],
        })
    }

    /// The maxima of a plane, and their positions in it unless `positions` is empty.
    pub(super) fn run<T: Number, O: Offset>(
        &self,
        plane: &[T],
        scratch: &mut Scratch<T, O>,
        maxima: &mut [T],
        positions: &mut [i64],
    ) {
        let all = MaximaMut {
            values: scratch.values.of(4 * self.largest),
            offsets: &mut scratch.offsets,
        };
        let (mut from, rest) = all.split_at(self.largest);
        let (mut to, rest) = rest.split_at(self.largest);
        let (mut even, mut odd) = rest.split_at(self.largest);
        for (i, pass) in self.passes.iter().enumerate() {
            let source = match i {
                0 => Maxima {
                    values: plane,
                    offsets: &scratch.zeros,
                },
                _ => from.read(),
            };
            let mut target = to.reborrow();
            if i + 1 == self.passes.len() {
                target.values = &mut *maxima;
            }
            match pass {
                Pass::Columns(pass) => {
                    let halves = [even.reborrow(), odd.reborrow()];
                    pass.run(i == 0, source, halves, target);
                }
                Pass::Rows(pass) => pass.run(source, target),
            }
            std::mem::swap(&mut from, &mut to);
        }
        if !positions.is_empty() {
            run_at_best_level(Locate {
                rows: &self.rows,
                columns: &self.columns,
                offsets: from.offsets,
                to: positions,
            });
        }
    }
}

impl Columns {
    /// The passes from `rows` rows of the input to their windows.
    fn all(windows: &Windows, rows: usize) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let (mut line, mut size) = (Line::new(windows), windows.size);
        let pitch = |all: &[Self]| all.last().map_or(windows.size, |pass| pass.to);
        while let Some((pairs, rest)) = line.divided(size) {
            size = pairs.windows.len();
            all.push(Self::new(pairs, rows, pitch(&all)));
            line = rest;
        }
        all.push(Self::new(line, rows, pitch(&all)));
        all
    }

    fn new(line: Line, rows: usize, from: usize) -> Self {
        let regular = line.regular();
        let count = line.windows.len();
        let to = match &regular {
            // As many as there are to begin with, so that rows need no ends.
            Some(regular) => from.div_ceil(regular.stride).max(count),
            None => count,
        };
        Self {
            rows,
            from,
            to,
            line,
            regular,
        }
    }

    /// The offsets of the first pass are zeros, in any order.
    fn run<T: Number, O: Offset>(
        &self,
        is_first: bool,
        from: Maxima<'_, T, O>,
        halves: [MaximaMut<'_, T, O>; 2],
        mut to: MaximaMut<'_, T, O>,
    ) {
        let regular = match &self.regular {
            Some(regular) if self.are_pairs(regular) => {
                run_at_best_level(MeetPairs {
                    from: from.first(self.rows * self.from),
                    distance: self.line.distance,
                    to: to.range(0..self.rows * self.to),
                });
                regular.outputs.clone()
            }
            Some(regular) => {
                let lines = self.lines(regular.stride, is_first, from, halves);
                self.meet(regular, lines, &mut to);
                regular.outputs.clone()
            }
            None => 0..0,
        };
        let Line {
            windows,
            step,
            distance,
            ..
        } = &self.line;
        for column in (0..regular.start).chain(regular.end..windows.len()) {
            let (start, count) = windows[column];
            let taps: Vec<usize> = self.line.taps(count).skip(1).collect();
            for row in 0..self.rows {
                let from = from.skip(row * self.from + start);
                let mut best = from.at(0);
                for tap in &taps {
                    let (value, offset) = from.at(tap * step);
                    best = greater(best, (value, offset.plus(tap * step * distance)));
                }
                to.set(row * self.to + column, best);
            }
        }
    }

    /// Whether the windows are all pairs of neighbors, one behind the other.
    fn are_pairs(&self, regular: &RegularWindows) -> bool {
        let is_all = regular.outputs == (0..self.to) && self.from == 2 * self.to;
        let is_pair = (regular.stride, regular.start, regular.len) == (2, 0, 2);
        is_all && is_pair && self.line.step == 1
    }

    /// Every `stride`-th element of the rows, from the first and from the second, at the distance of the rows of the
    /// output.
    fn lines<'a, T: Number, O: Offset>(
        &self,
        stride: usize,
        is_first: bool,
        from: Maxima<'a, T, O>,
        [even, odd]: [MaximaMut<'a, T, O>; 2],
    ) -> [Maxima<'a, T, O>; 2] {
        if self.from == stride * self.to && stride == 1 {
            return [from, from];
        }
        self.spread(stride, from.values, even.values, odd.values);
        if !is_first {
            self.spread(stride, from.offsets, even.offsets, odd.offsets);
        }
        let offsets = match is_first {
            true => [from.offsets, from.offsets],
            false => [&*even.offsets, &*odd.offsets],
        };
        let [evens, odds] = offsets;
        [
            Maxima {
                values: even.values,
                offsets: evens,
            },
            Maxima {
                values: odd.values,
                offsets: odds,
            },
        ]
    }

    fn spread<T: Copy>(&self, stride: usize, from: &[T], even: &mut [T], odd: &mut [T]) {
        let from = &from[..self.rows * self.from];
        if self.from == 2 * self.to && stride == 2 {
            return split_pairs(from, even, odd);
        }
        let halves = even
            .chunks_exact_mut(self.to)
            .zip(odd.chunks_exact_mut(self.to));
        for (row, (even, odd)) in from.chunks_exact(self.from).zip(halves) {
            match stride {
                1 => even[..row.len()].copy_from_slice(row),
                _ => split_pairs(row, even, odd),
            }
        }
    }

    /// The maxima of the regular windows in all rows at once; what lies between the rows is overwritten.
    fn meet<T: Number, O: Offset>(
        &self,
        regular: &RegularWindows,
        lines: [Maxima<'_, T, O>; 2],
        to: &mut MaximaMut<'_, T, O>,
    ) {
        let Line {
            windows,
            step,
            distance,
            ..
        } = &self.line;
        let len = self.rows * self.to;
        let mut to = to.range(regular.outputs.start..len);
        let at = |tap: usize| {
            let at = regular.start + tap * step;
            let line = lines[at % regular.stride]
                .first(len)
                .skip(at / regular.stride);
            (line, tap * step * distance)
        };
        let taps = self.line.taps(windows[regular.outputs.start].1).map(at);
        let taps: Vec<_> = taps.collect();
        let Some((&(first, _), others)) = taps.split_first() else {
            return;
        };
        // One or two to begin with, so that the rest are pairs.
        let (begin, rest) = others.split_at(others.len().min(2 - others.len() % 2));
        match *begin {
            [] => to.copy_from(first),
            [second] => run_at_best_level(Meet {
                first,
                others: [second],
                to: to.reborrow(),
            }),
            [second, third, ..] => run_at_best_level(Meet {
                first,
                others: [second, third],
                to: to.reborrow(),
            }),
        }
        for &others in rest.as_chunks().0 {
            run_at_best_level(MeetTwoMore {
                others,
                to: to.reborrow(),
            });
        }
    }
}

impl Rows {
    fn new(blocks: usize, windows: &Windows, from: usize, columns: usize, distance: usize) -> Self {
        Self {
            blocks,
            size: windows.size,
            from,
            columns,
            windows: windows.starts_and_counts(),
            step: windows.distance(),
            distance,
        }
    }

    fn run<T: Number, O: Offset>(&self, from: Maxima<'_, T, O>, mut to: MaximaMut<'_, T, O>) {
        let (before, after) = (self.size * self.from, self.windows.len() * self.columns);
        for block in 0..self.blocks {
            run_at_best_level(MeetRows {
                from: from.range(block * before..(block + 1) * before),
                pitch: self.from,
                windows: &self.windows,
                step: self.step,
                distance: self.step * self.distance,
                to: to.range(block * after..(block + 1) * after),
                columns: self.columns,
            });
        }
    }
}
