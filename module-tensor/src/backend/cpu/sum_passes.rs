//! Linear maps along one dimension of a plane.

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::interleave::{join_pairs, split_pairs};
use super::number::Number;
use super::regular_windows::RegularWindows;
use super::resample_axis::{AxisWeights, ResampleAxis};
use super::simd::run_at_best_level;
use super::sum_loops::{AddLine, Scale, ScaleLine, SumPairs, SumRows, SumTwo, Term};
use crate::Scalar;
use crate::zip::{zip, zip_mut};

/// A linear map along one dimension of planes that are `[outer, size, inner]`.
pub(super) struct SumPass<T> {
    outer: usize,
    size: usize,
    inner: usize,
    sums: Sums<T>,
    /// Whether each output is an input.
    is_copy: bool,
    /// The windows of outputs that are computed side by side, if the last dimension is summed.
    side_by_side: SideBySide,
}

/// For each output the sum of neighboring inputs.
struct Sums<T> {
    ranges: Vec<Range<usize>>,
    /// The factors of the inputs of each output, output by output, and where they start; none if all are 1.
    factors: Option<(Vec<T>, Vec<usize>)>,
    /// What each input is scaled by before it is added, if any is.
    before: Option<Vec<Scale<T>>>,
    /// What each sum is scaled by.
    after: Vec<Scale<T>>,
}

/// Runs of outputs that differ in nothing but their place.
enum SideBySide {
    None,
    /// At a distance of one or two inputs.
    All(RegularWindows),
    /// Every second output, at a distance of one input: those from the first on, and those from the second on.
    ByTurns([RegularWindows; 2]),
}

impl<T: Number> Sums<T> {
    fn new(axis: &ResampleAxis) -> Self {
        let number = |&v: &f64| T::from_scalar(Scalar::Float(v));
        let keep = vec![Scale::Keep; axis.ranges.len()];
        let ranges = axis.ranges.clone();
        let (factors, before, after) = match &axis.weights {
            AxisWeights::OverOutput(divisors) => (None, None, scales(divisors)),
            AxisWeights::OverInput(divisors) => {
                let before = Some(scales(divisors));
                let before = before.filter(|all| all.iter().any(|one| *one != Scale::Keep));
                (None, before, keep)
            }
            AxisWeights::Pairs(factors) => {
                let starts = ranges.iter().scan(0, |next, range| {
                    *next += range.len();
                    Some(*next - range.len())
                });
                let starts = starts.collect();
                (
                    Some((factors.iter().map(number).collect(), starts)),
                    None,
                    keep,
                )
            }
        };
        Self {
            ranges,
            factors,
            before,
            after,
        }
    }

    /// The factors of an output's inputs.
    fn factors(&self, output: usize) -> Option<&[T]> {
        let (factors, starts) = self.factors.as_ref()?;
        Some(&factors[starts[output]..][..self.ranges[output].len()])
    }

    /// The outputs around the middle of the run that have the same factors and the same scale.
    fn alike(&self, run: RegularWindows, output: impl Fn(usize) -> usize) -> RegularWindows {
        let middle = run.outputs.start.midpoint(run.outputs.end);
        let is_alike = |at: &usize| {
            let (a, b) = (output(*at), output(middle));
            self.factors(a) == self.factors(b) && self.after[a] == self.after[b]
        };
        let down = (run.outputs.start..middle)
            .rev()
            .take_while(is_alike)
            .count();
        let up = (middle..run.outputs.end).take_while(is_alike).count();
        let start = middle - down;
        RegularWindows {
            start: run.start + (start - run.outputs.start) * run.stride,
            outputs: start..middle + up,
            ..run
        }
    }

    /// Whether each output is an input.
    fn are_copies(&self) -> bool {
        let scales_nothing = self.after.iter().all(|scale| *scale == Scale::Keep);
        scales_nothing && self.factors.is_none() && self.ranges.iter().all(|range| range.len() == 1)
    }

    fn side_by_side(&self, size: usize) -> SideBySide {
        // With few outputs among many inputs, most of what is computed would be left out.
        let most = |run: &RegularWindows, count: usize| {
            let outputs = run.outputs.len();
            run.len > 0 && 2 * outputs > count && 4 * outputs >= size / run.stride
        };
        let count = self.ranges.len();
        let found = RegularWindows::find(&self.ranges).map(|run| self.alike(run, |at| at));
        if let Some(run) = found.filter(|run| run.stride <= 2 && most(run, count)) {
            return SideBySide::All(run);
        }
        let turn = |turn: usize| {
            let ranges: Vec<_> = self.ranges.iter().skip(turn).step_by(2).cloned().collect();
            let run = self.alike(RegularWindows::find(&ranges)?, |at| 2 * at + turn);
            Some(run).filter(|run| run.stride == 1 && most(run, ranges.len()))
        };
        match (turn(0), turn(1)) {
            (Some(first), Some(second)) => SideBySide::ByTurns([first, second]),
            _ => SideBySide::None,
        }
    }

    /// The sums of an output in lines of `size` elements, `count` sums for each.
    fn sum_alone(&self, output: usize, from: &[T], size: usize, to: &mut [T], count: usize) {
        let range = self.ranges[output].clone();
        let factors = self.factors(output);
        for (from, to) in from.chunks_exact(size).zip(to.chunks_exact_mut(count)) {
            let Some((&first, rest)) = from[range.clone()].split_first() else {
                to[output] = T::zero();
                continue;
            };
            let sum = match factors.and_then(<[T]>::split_first) {
                // Of the mean of a whole line, there is no other sum to compute meanwhile.
                None if self.ranges.len() == 1 => sum_by_lanes(first, rest),
                None => rest.iter().fold(first, |sum, &v| sum.plus(v)),
                Some((factor, factors)) => zip(rest, factors)
                    .fold(first * *factor, |sum, (&v, &factor)| sum.plus(v * factor)),
            };
            to[output] = self.after[output].of(sum);
        }
    }
}

/// The sum of a number and a line, whose blocks of sixteen are added up side by side, because each addition waits for the
/// one before. Then the halves of the sixteen sums are added, until one is left.
fn sum_by_lanes<T: Number>(first: T, rest: &[T]) -> T {
    const LANES: usize = 16;
    let (blocks, ends) = rest.as_chunks::<LANES>();
    let mut sums = [T::zero(); LANES];
    for block in blocks {
        zip_mut(&mut sums, block).for_each(|(sum, &v)| *sum = sum.plus(v));
    }
    let sum = ends.iter().fold(first, |sum, &v| sum.plus(v));
    if blocks.is_empty() {
        return sum;
    }
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = sums.split_at_mut(half);
        zip_mut(low, &*high).for_each(|(sum, &v)| *sum = sum.plus(v));
        half /= 2;
    }
    sum.plus(sums[0])
}

/// Division by the numbers, as a product where that is the same: by powers of two.
fn scales<T: Number>(divisors: &[f64]) -> Vec<Scale<T>> {
    let number = |v: f64| T::from_scalar(Scalar::Float(v));
    let scale = |&divisor: &f64| {
        // A double without a fraction behind its first digit.
        let is_power = divisor.to_bits().trailing_zeros() >= f64::MANTISSA_DIGITS - 1;
        match divisor {
            1.0 => Scale::Keep,
            _ if is_power => Scale::Times(number(divisor.recip())),
            _ => Scale::Over(number(divisor)),
        }
    };
    divisors.iter().map(scale).collect()
}

impl<T: Number> SumPass<T> {
    pub(super) fn new(axis: &ResampleAxis, outer: usize, inner: usize) -> Self {
        let sums = Sums::new(axis);
        let side_by_side = match inner {
            1 => sums.side_by_side(axis.size),
            _ => SideBySide::None,
        };
        Self {
            outer,
            size: axis.size,
            inner,
            is_copy: sums.are_copies(),
            sums,
            side_by_side,
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
        let regular = |output: usize| match &self.side_by_side {
            SideBySide::None => false,
            SideBySide::All(run) => run.outputs.contains(&output),
            SideBySide::ByTurns(runs) => runs[output % 2].outputs.contains(&(output / 2)),
        };
        match &self.side_by_side {
            SideBySide::None => {}
            SideBySide::All(run) => self.sum_all(run, from, to, room),
            SideBySide::ByTurns(runs) => self.sum_by_turns(runs, from, to, room),
        }
        for output in (0..count).filter(|output| !regular(*output)) {
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
            match columns >= 32 {
                true => run_at_best_level(SumRows::<T, 32> {
                    from,
                    columns,
                    ranges,
                    factors,
                    scales: after,
                    to,
                }),
                false => run_at_best_level(SumRows::<T, 16> {
                    from,
                    columns,
                    ranges,
                    factors,
                    scales: after,
                    to,
                }),
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
