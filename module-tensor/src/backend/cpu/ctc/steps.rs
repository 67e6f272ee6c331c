//! The states that a path runs through, a blank before each label of the target and after the last, and the sums of all
//! paths to or from each state.

// A loop is made of vector instructions only if what it calls is inlined into it, and if it goes by index.
#![allow(clippy::inline_always, clippy::needless_range_loop)]

use super::super::aligned_vec::AlignedVec;
use super::super::lanes::Sum;
use super::super::memory::filled;
use super::super::simd::{Loop, run_at_best_level};
use super::super::vector::double::{exp_of_negative, ln_1p};
use crate::Result;

/// The logarithm of the probability of an impossible path. It is finite, so that differences of two are numbers.
const LOG_ZERO: f64 = -1e30;

/// The places before the labels in a row, of which the last stands for the label before the first. Labels begin at a vector
/// register as blanks do.
const GAP: usize = 8;

/// Rows have space for whole vector registers, so that no state is computed on its own.
const WIDEST: usize = 16;

/// Where paths go from a state.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Direction {
    Later,
    Earlier,
}

/// The sums of paths from step to step. A row holds a logarithm for each state: first for the blanks, then, after a [`GAP`],
/// for the labels.
pub(super) struct Steps<'a> {
    target: &'a [usize],
    blank: usize,
    /// The number of blanks, and of labels, in a row.
    width: usize,
    /// 1 for each label that may follow the label before it without a blank between, otherwise 0.
    skips: AlignedVec<f64>,
    /// The log-probabilities of the states at the current step, a row.
    emitted: AlignedVec<f64>,
    /// For each blank, the paths that go through it or past it to a label.
    passing: AlignedVec<f64>,
    /// The shares of the states in all paths, a row.
    shares: AlignedVec<f64>,
    /// The different labels of the target, and the index of each label of the target in them.
    different: Vec<usize>,
    which: Vec<usize>,
    /// The shares of the different labels.
    sums: Vec<f64>,
}

impl<'a> Steps<'a> {
    pub(super) fn new(target: &'a [usize], blank: usize) -> Result<Self> {
        let width = (target.len() + 1).next_multiple_of(WIDEST);
        let row = || filled(2 * width + GAP, LOG_ZERO);
        let mut skips = filled(width, 0.0)?;
        for (skips, pair) in skips[1..].iter_mut().zip(target.windows(2)) {
            *skips = f64::from(u8::from(pair[0] != pair[1]));
        }
        let mut different = target.to_vec();
        different.sort_unstable();
        different.dedup();
        let which = target
            .iter()
            .map(|label| different.partition_point(|other| other < label));
        Ok(Self {
            target,
            blank,
            width,
            skips,
            emitted: row()?,
            // After the last blank, there is one that no path goes through.
            passing: filled(width + 1, LOG_ZERO)?,
            shares: row()?,
            which: which.collect(),
            sums: vec![0.0; different.len()],
            different,
        })
    }

    /// A row in which no path goes through any state.
    pub(super) fn row(&self) -> Result<AlignedVec<f64>> {
        filled(2 * self.width + GAP, LOG_ZERO)
    }

    /// The row before the first step or, for the direction to earlier ones, after the last: a path begins in the first blank,
    /// without a probability of its own, and ends in the last.
    pub(super) fn start(&self, direction: Direction) -> Result<AlignedVec<f64>> {
        let mut row = self.row()?;
        match direction {
            Direction::Later => row[0] = 0.0,
            Direction::Earlier => row[self.target.len()] = 0.0,
        }
        Ok(row)
    }

    /// Reads the log-probabilities of the labels at a step.
    pub(super) fn read(&mut self, x: impl Fn(usize) -> f64) {
        // A NaN stays.
        let bounded = |x: f64| if x < LOG_ZERO { LOG_ZERO } else { x };
        let (blanks, labels) = self.emitted.split_at_mut(self.width + GAP);
        blanks[..=self.target.len()].fill(bounded(x(self.blank)));
        for (out, &label) in labels.iter_mut().zip(self.target) {
            *out = bounded(x(label));
        }
    }

    /// Computes the sums of the paths to each state, itself included, from those of the states one step before in the
    /// direction.
    pub(super) fn step(&mut self, direction: Direction, before: &[f64], after: &mut [f64]) {
        run_at_best_level(Step {
            before,
            after,
            width: self.width,
            to_earlier: usize::from(direction == Direction::Earlier),
            skips: &self.skips,
            emitted: &self.emitted,
            passing: &mut self.passing,
        });
    }

    /// The sum of all paths, from the row after the last step; `None` if there are none.
    pub(super) fn total(&self, last: &[f64]) -> Option<f64> {
        let end = self.target.len();
        let total = log_add(last[end], last[end + self.width + GAP - 1]);
        // A NaN is a sum.
        match total < LOG_ZERO / 2.0 {
            true => None,
            false => Some(total),
        }
    }

    /// Calls `write` with the share of each label of the target, and of the blank, at the step that was read, from the sums
    /// of the paths to each state and from it, both with the state itself.
    pub(super) fn shares(
        &mut self,
        [to, from]: [&[f64]; 2],
        total: f64,
        mut write: impl FnMut(usize, f64),
    ) {
        run_at_best_level(Shares {
            out: &mut self.shares,
            to,
            from,
            emitted: &self.emitted,
            total,
        });
        let (blanks, labels) = self.shares.split_at(self.width + GAP);
        write(self.blank, run_at_best_level(Sum(&blanks[..self.width])));
        self.sums.fill(0.0);
        for (&which, share) in self.which.iter().zip(labels) {
            self.sums[which] += share;
        }
        for (&label, &sum) in self.different.iter().zip(&self.sums) {
            write(label, sum);
        }
    }
}

/// `ln(eᵃ + eᵇ)`
#[inline(always)]
fn log_add(a: f64, b: f64) -> f64 {
    // A NaN in either is the smaller one here or in the difference, so that it stays.
    let (most, least) = if a > b { (a, b) } else { (b, a) };
    most + ln_1p(exp_of_negative(least - most))
}

struct Step<'a> {
    before: &'a [f64],
    after: &'a mut [f64],
    width: usize,
    /// 1 for the direction to earlier steps, otherwise 0.
    to_earlier: usize,
    skips: &'a [f64],
    emitted: &'a [f64],
    passing: &'a mut [f64],
}

impl Loop for Step<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (width, labels) = (self.width, self.width + GAP);
        let (blanks, own) = (&self.before[..width], &self.before[labels..][..width]);
        // To a blank, paths go from the label before it; in the other direction, from the label after it.
        let near = &self.before[labels - 1 + self.to_earlier..][..width];
        let (blanks_after, labels_after) = self.after.split_at_mut(labels);
        blanks_after[width..].fill(LOG_ZERO);
        let (blanks_after, labels_after) = (&mut blanks_after[..width], &mut labels_after[..width]);
        let emitted = &self.emitted[..width];
        let skips = &self.skips[..width];
        {
            let passing = &mut self.passing[..width];
            for i in 0..width {
                let sum = log_add(blanks[i], near[i]);
                blanks_after[i] = sum + emitted[i];
                passing[i] = if skips[i] > 0.0 { sum } else { blanks[i] };
            }
        }
        let emitted = &self.emitted[labels..][..width];
        let passing = &self.passing[self.to_earlier..][..width];
        for i in 0..width {
            labels_after[i] = log_add(own[i], passing[i]) + emitted[i];
        }
    }
}

struct Shares<'a> {
    out: &'a mut [f64],
    to: &'a [f64],
    from: &'a [f64],
    emitted: &'a [f64],
    total: f64,
}

impl Loop for Shares<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { total, .. } = self;
        let len = self.out.len();
        let (out, to, from) = (self.out, &self.to[..len], &self.from[..len]);
        let emitted = &self.emitted[..len];
        for i in 0..len {
            out[i] = exp_of_negative((to[i] - total) + (from[i] - emitted[i]));
        }
    }
}
