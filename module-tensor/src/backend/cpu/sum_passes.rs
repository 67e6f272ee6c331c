//! Linear maps along one dimension of a plane.

mod sums;

use super::interleave::{join_pairs, split_pairs};
use super::number::Number;
use super::regular_windows::RegularWindows;
use super::resample_axis::ResampleAxis;
use super::simd::run_at_best_level;
use super::sum_loops::{AddLine, JoinTwo, Rows, Scale, ScaleLine, SumPairs, SumRows, SumTwo, Term};
use sums::{SideBySide, Sums};

/// A linear map along one dimension of planes that are `[outer, size, inner]`.
pub(super) struct SumPass<T> {
    outer: usize,
    size: usize,
    inner: usize,
    sums: Sums<T>,
    /// Whether each output is an input.
    is_copy: bool,
    /// The windows of outputs that are computed side by side, if the last dimension is summed, and the outputs that are
    /// not.
    side_by_side: SideBySide,
    alone: Vec<usize>,
}

impl<T: Number> SumPass<T> {
    pub(super) fn new(axis: &ResampleAxis, outer: usize, inner: usize) -> Self {
        let sums = Sums::new(axis);
        let side_by_side = match inner {
            1 => sums.side_by_side(axis.size),
            _ => SideBySide::None,
        };
        let is_alone = |output: &usize| match &side_by_side {
            SideBySide::None => true,
            SideBySide::All(run) => !run.outputs.contains(output),
            SideBySide::ByTurns(runs) => !runs[output % 2].outputs.contains(&(output / 2)),
        };
        let alone = (0..axis.ranges.len()).filter(is_alone).collect();
        Self {
            outer,
            size: axis.size,
            inner,
            is_copy: sums.are_copies(),
            sums,
            side_by_side,
            alone,
        }
    }

    /// The number of elements of a plane before and after.
    pub(super) fn input(&self) -> usize {
        self.outer * self.size * self.inner
    }

    pub(super) fn output(&self) -> usize {
        self.outer * self.sums.ranges.len() * self.inner
    }

    /// The number of elements that each block of memory on the way must hold.
    pub(super) fn room(&self) -> usize {
        // Rows may be lengthened to those of the output, and those by a half.
        let longest = (self.size + 1).max(self.sums.ranges.len() + 1);
        self.outer * longest * self.inner
    }

    /// The map of a plane; `room` is memory on the way.
    pub(super) fn run(&self, from: &[T], to: &mut [T], room: [&mut [T]; 5]) {
        let [scaled, room @ ..] = room;
        let from = match &self.sums.before {
            None => from,
            Some(scales) => {
                self.scale(scales, from, scaled);
                &scaled[..from.len()]
            }
        };
        if self.inner > 1 {
            return self.sum_rows(from, to);
        }
        let count = self.sums.ranges.len();
        match &self.side_by_side {
            SideBySide::None => {}
            SideBySide::All(run) => self.sum_all(run, from, to, room),
            SideBySide::ByTurns(runs) => self.sum_by_turns(runs, from, to, room),
        }
        for &output in &self.alone {
            self.sums.sum_alone(output, from, self.size, to, count);
        }
    }

    fn sum_rows(&self, from: &[T], to: &mut [T]) {
        let columns = self.inner;
        let Sums { ranges, after, .. } = &self.sums;
        let factors = self.sums.factors.as_ref().map(|(factors, _)| &**factors);
        let blocks = from.chunks_exact(self.size * columns);
        for (from, to) in blocks.zip(to.chunks_exact_mut(ranges.len() * columns)) {
            if self.is_copy {
                for (to, range) in to.chunks_exact_mut(columns).zip(ranges) {
                    to.copy_from_slice(&from[range.start * columns..][..columns]);
                }
                continue;
            }
            let rows = Rows {
                from,
                columns,
                ranges,
                factors,
                scales: after,
                to,
            };
            // Blocks of a short row overhang its end, where another row follows.
            let is_short = columns < 8 && ranges.len() == 1 && columns >= 4;
            let is_wide = columns >= 16 || (columns < 8 && !is_short);
            // Fewer widths for wider numbers, which leaves less to compile.
            let has_all = const { size_of::<T>() == 4 };
            match columns {
                32.. if has_all => run_at_best_level(SumRows::<T, 32>(rows)),
                _ if has_all && is_wide => run_at_best_level(SumRows::<T, 16>(rows)),
                _ if is_short => run_at_best_level(SumRows::<T, 4>(rows)),
                _ => run_at_best_level(SumRows::<T, 8>(rows)),
            }
        }
    }

    /// Scales the inputs: as the one in the middle, and then those that differ.
    fn scale(&self, scales: &[Scale<T>], from: &[T], to: &mut [T]) {
        let Some(&middle) = scales.get(scales.len() / 2) else {
            return;
        };
        let to = &mut to[..from.len()];
        scale_line(from, middle, to);
        for (at, &other) in scales.iter().enumerate().filter(|(_, one)| **one != middle) {
            for block in 0..self.outer {
                let start = (block * self.size + at) * self.inner;
                let range = start..start + self.inner;
                match self.inner {
                    1 => to[start] = other.of(from[start]),
                    _ => scale_line(&from[range.clone()], other, &mut to[range]),
                }
            }
        }
    }

    /// The sums of a run of outputs, in all rows at once.
    fn sum_all(&self, run: &RegularWindows, from: &[T], to: &mut [T], room: [&mut [T]; 4]) {
        let [even, odd, sums, _] = room;
        let count = self.sums.ranges.len();
        if run.stride == 2 && run.len == 2 && run.start == 0 && self.size == 2 * count {
            let scale = self.sums.after[run.outputs.start];
            if self.sums.factors.is_none() && run.outputs.start == 0 {
                return run_at_best_level(SumPairs { from, scale, to });
            }
        }
        let pitch = self.size.div_ceil(run.stride).max(count);
        let len = self.outer * pitch;
        let lines = match run.stride {
            1 if pitch == self.size => [from, from],
            2 if 2 * pitch == self.size => {
                split_pairs(from, even, odd);
                [&even[..len], &odd[..len]]
            }
            stride => {
                let halves = even
                    .chunks_exact_mut(pitch)
                    .zip(odd.chunks_exact_mut(pitch));
                for (row, (even, odd)) in from.chunks_exact(self.size).zip(halves) {
                    match stride {
                        1 => even[..row.len()].copy_from_slice(row),
                        _ => split_pairs(row, even, odd),
                    }
                }
                [&even[..len], &odd[..len]]
            }
        };
        if pitch == count {
            return self.sum_run(run, run.outputs.start, lines, to);
        }
        let sums = &mut sums[..len];
        self.sum_run(run, run.outputs.start, lines, sums);
        for (from, to) in sums.chunks_exact(pitch).zip(to.chunks_exact_mut(count)) {
            to.copy_from_slice(&from[..count]);
        }
    }

    /// The sums of two runs that take turns, in all rows at once.
    fn sum_by_turns(
        &self,
        runs: &[RegularWindows; 2],
        from: &[T],
        to: &mut [T],
        room: [&mut [T]; 4],
    ) {
        let [longer, _, first, second] = room;
        let count = self.sums.ranges.len();
        let (firsts, seconds) = (count.div_ceil(2), count / 2);
        let pitch = self.size.max(firsts);
        let len = self.outer * pitch;
        let line = if pitch == self.size {
            from
        } else {
            let rows = from.chunks_exact(self.size);
            for (row, longer) in rows.zip(longer.chunks_exact_mut(pitch)) {
                longer[..row.len()].copy_from_slice(row);
            }
            &longer[..len]
        };
        if count == 2 * pitch && runs.iter().all(|run| run.len == 2) {
            let pairs = to.as_chunks_mut().0;
            if self.sum_two_by_turns(runs, line, pairs).is_some() {
                return;
            }
        }
        let (first, second) = (&mut first[..len], &mut second[..len]);
        let in_place = |run: &RegularWindows| run.start == 0 && run.outputs.start == 0;
        let (first, second) = if self.is_copy && runs.iter().all(in_place) {
            (line, line)
        } else {
            self.sum_run(&runs[0], 2 * runs[0].outputs.start, [line; 2], first);
            self.sum_run(&runs[1], 2 * runs[1].outputs.start + 1, [line; 2], second);
            (&*first, &*second)
        };
        if count == 2 * pitch {
            return join_pairs(first, second, to);
        }
        let halves = first.chunks_exact(pitch).zip(second.chunks_exact(pitch));
        for (to, (first, second)) in to.chunks_exact_mut(count).zip(halves) {
            join_pairs(&first[..firsts], &second[..seconds], to);
        }
    }

    /// The sums of two products each by two runs that take turns, if there are factors.
    fn sum_two_by_turns(
        &self,
        runs: &[RegularWindows; 2],
        line: &[T],
        to: &mut [[T; 2]],
    ) -> Option<()> {
        let factors = |turn: usize| {
            let factors = self.sums.factors(2 * runs[turn].outputs.start + turn)?;
            factors.first_chunk::<2>()
        };
        let factors = [factors(0)?, factors(1)?];
        // The positions where both have a window, as far as the line goes.
        let start = runs[0].outputs.start.max(runs[1].outputs.start);
        let window = |turn: usize| {
            let from = runs[turn].start + start - runs[turn].outputs.start;
            Some([line.get(from..)?, line.get(from + 1..)?])
        };
        let lines = [window(0)?, window(1)?];
        let shortest = lines[0][1].len().min(lines[1][1].len());
        let end = to.len().min(start + shortest);
        let term = |turn: usize, k: usize| (lines[turn][k], factors[turn][k]);
        run_at_best_level(JoinTwo {
            windows: [[term(0, 0), term(0, 1)], [term(1, 0), term(1, 1)]],
            to: to.get_mut(start..end)?,
        });
        // Before and after only one may have a window.
        for at in (0..start).chain(end..to.len()) {
            for (turn, run) in runs.iter().enumerate() {
                let inputs = at.checked_sub(run.outputs.start);
                let inputs = inputs.and_then(|at| line.get(run.start + at..)?.first_chunk());
                if let Some(&[v, w]) = inputs {
                    let [a, b] = *factors[turn];
                    to[at][turn] = (v * a).plus(w * b);
                }
            }
        }
        Some(())
    }

    /// The sums of a run as those of `output`, in lines that hold every `stride`-th input; what lies between the rows
    /// is overwritten.
    fn sum_run(&self, run: &RegularWindows, output: usize, lines: [&[T]; 2], to: &mut [T]) {
        let factors = self.sums.factors(output);
        let term = |k: usize| Term {
            line: &lines[(run.start + k) % run.stride][(run.start + k) / run.stride..],
            factor: factors.map(|factors| factors[k]),
        };
        let to = &mut to[run.outputs.start..];
        let (first, after) = (term(0), self.sums.after[output]);
        if run.len == 1 {
            return scale_line(first.line, first.factor.map_or(after, Scale::Times), to);
        }
        let scale = |k: usize| if k + 1 == run.len { after } else { Scale::Keep };
        run_at_best_level(SumTwo {
            first,
            second: term(1),
            scale: scale(1),
            to: &mut *to,
        });
        for k in 2..run.len {
            run_at_best_level(AddLine {
                term: term(k),
                scale: scale(k),
                to: &mut *to,
            });
        }
    }
}

fn scale_line<T: Number>(from: &[T], scale: Scale<T>, to: &mut [T]) {
    run_at_best_level(ScaleLine { from, scale, to });
}
