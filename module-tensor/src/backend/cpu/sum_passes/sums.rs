//! For each output of a linear map the sum of neighboring inputs.

use std::ops::Range;

use super::super::lanes::sum;
use super::super::number::Number;
use super::super::regular_windows::RegularWindows;
use super::super::resample_axis::{AxisWeights, ResampleAxis};
use super::super::sum_loops::Scale;
use crate::Scalar;
use crate::zip::zip;

/// For each output the sum of neighboring inputs.
pub(super) struct Sums<T> {
    pub(super) ranges: Vec<Range<usize>>,
    /// The factors of the inputs of each output, output by output, and where they start; none if all are 1.
    pub(super) factors: Option<(Vec<T>, Vec<usize>)>,
    /// The scale of each input before it is added, if any is scaled.
    pub(super) before: Option<Vec<Scale<T>>>,
    /// The scale of each sum.
    pub(super) after: Vec<Scale<T>>,
}

/// Runs of outputs that differ in nothing but their position.
pub(super) enum SideBySide {
    None,
    /// At a distance of one or two inputs.
    All(RegularWindows),
    /// Every second output, at a distance of one input: those from the first on, and those from the second on.
    ByTurns([RegularWindows; 2]),
}

impl<T: Number> Sums<T> {
    pub(super) fn new(axis: &ResampleAxis) -> Self {
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
    pub(super) fn factors(&self, output: usize) -> Option<&[T]> {
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
    pub(super) fn are_copies(&self) -> bool {
        let scales_nothing = self.after.iter().all(|scale| *scale == Scale::Keep);
        scales_nothing && self.factors.is_none() && self.ranges.iter().all(|range| range.len() == 1)
    }

    pub(super) fn side_by_side(&self, size: usize) -> SideBySide {
        // With few outputs among many inputs, most of what is computed would be left out, and one has no neighbor.
        let most = |run: &RegularWindows, count: usize| {
            let outputs = run.outputs.len();
            run.len > 0 && count > 1 && 2 * outputs > count && 4 * outputs >= size / run.stride
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
    pub(super) fn sum_alone(
        &self,
        output: usize,
        from: &[T],
        size: usize,
        to: &mut [T],
        count: usize,
    ) {
        let range = self.ranges[output].clone();
        let factors = self.factors(output);
        if factors.is_none() && self.ranges.len() == 1 {
            // One mean of each line: there is no other sum to compute meanwhile.
            for (to, from) in to.iter_mut().zip(from.chunks_exact(size)) {
                *to = self.after[output].of(sum(&from[range.clone()]));
            }
            return;
        }
        for (from, to) in from.chunks_exact(size).zip(to.chunks_exact_mut(count)) {
            let Some((&first, rest)) = from[range.clone()].split_first() else {
                to[output] = T::zero();
                continue;
            };
            let sum = match factors.and_then(<[T]>::split_first) {
                None => rest.iter().fold(first, |sum, &v| sum.plus(v)),
                Some((factor, factors)) => zip(rest, factors)
                    .fold(first * *factor, |sum, (&v, &factor)| sum.plus(v * factor)),
            };
            to[output] = self.after[output].of(sum);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::{Scale, scales};

    #[test]
    fn only_powers_of_two_become_factors() {
        let all = scales::<f32>(&[1.0, 2.0, 3.0, 4.0, 6.0, 1024.0]);
        let want = [
            Scale::Keep,
            Scale::Times(0.5),
            Scale::Over(3.0),
            Scale::Times(0.25),
            Scale::Over(6.0),
            Scale::Times(1.0 / 1024.0),
        ];
        assert_eq!(all, want);
    }
}
