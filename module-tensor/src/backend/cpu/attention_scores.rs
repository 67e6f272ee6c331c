//! What attention does to the scores of a block of queries: the softmax, the same computed anew from what was saved of it,
//! and its gradient. Each is one loop over all rows, because rows are short.

use std::ops::Range;

use super::attention_mask::{Mask, RowMask};
use super::float::Float;
use super::fold_lines::{fold_lines, fold_lines_of};
use super::greatest::{greater, max_lanes, max_of_lanes};
use super::lanes::{LANES, LANES_BLOCK, Sum, WIDE_LANES, number, split, sum_of2};
use super::short_rows::{SHORT_ROWS, update_short};
use super::simd::Loop;
use super::softmax::{ROWS, rows_of};
use crate::backend::{AttentionGeometry, CausalGeometry};
use crate::zip::zip_mut;

/// How scores are made of products of queries and keys, whose causal mask says which keys a query does not see.
#[derive(Clone, Copy)]
pub(super) struct Scores<'a, T: Float> {
    mask: Option<&'a Mask<'a, T>>,
    causal: Option<CausalGeometry>,
    /// The factor of the products, before the mask is added.
    pub(super) scale: T,
}

impl<'a, T: Float> Scores<'a, T> {
    pub(super) fn new(mask: Option<&'a Mask<'a, T>>, geometry: &AttentionGeometry) -> Self {
        Self {
            mask,
            causal: geometry.causal,
            scale: number(geometry.scale),
        }
    }

    /// Those of some queries for some keys, at least one, of an element of the batch.
    pub(super) fn block(
        self,
        batch: usize,
        queries: &Range<usize>,
        keys: &Range<usize>,
    ) -> ScoreBlock<'a, T> {
        ScoreBlock {
            of: self,
            batch,
            first_query: queries.start,
            first_key: keys.start,
            keys: keys.len(),
        }
    }
}

/// The scores of consecutive queries, in rows, for consecutive keys.
#[derive(Clone, Copy)]
pub(super) struct ScoreBlock<'a, T: Float> {
    of: Scores<'a, T>,
    batch: usize,
    first_query: usize,
    first_key: usize,
    /// The number of keys, at least 1.
    keys: usize,
}

impl<T: Float> ScoreBlock<'_, T> {
    /// Makes scores of the products in a row: multiplies them by the scale, adds the mask, and sets those to 0 that the query
    /// does not see. Returns where the others are, and the greatest of them, in lanes, without NaN.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn finish(&self, row: &mut [T], index: usize) -> (Range<usize>, [T; LANES]) {
        let at = [self.batch, self.first_query + index, self.first_key];
        let mask = self.of.mask.map(|mask| mask.row(at, row.len()));
        let keys = self.visible(index);
        row[..keys.start].fill(T::zero());
        row[keys.end..].fill(T::zero());
        let row = &mut row[keys.clone()];
        if let Some(RowMask::Numbers(numbers)) = mask {
            let most = scale_and_add(row, self.of.scale, &numbers[keys.clone()]);
            return (keys, most);
        }
        let number = match mask {
            Some(RowMask::Number(number)) => number,
            _ => T::zero(),
        };
        let score = |product: T| product.times(self.of.scale).plus(number);
        match row.len() < WIDE_LANES {
            true => update_short(row, score),
            false => row.iter_mut().for_each(|v| *v = score(*v)),
        }
        (keys, max_lanes(row))
    }

    /// The exponentials of at most [`SHORT_ROWS`] rows from `first` on, which are made of products, and what [`Softmax`] says of
    /// each. Rows shorter than [`WIDE_LANES`] leave most of them empty, so that all go through each step together.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn exps_of_short_rows(
        &self,
        first: usize,
        scores: &mut [T],
        shares: &mut [T],
        logs: &mut [f64],
    ) {
        for (i, row) in scores.chunks_exact_mut(self.keys).enumerate() {
            let (seen, _) = self.finish(row, first + i);
            row[..seen.start].fill(T::NEG_INFINITY);
            row[seen.end..].fill(T::NEG_INFINITY);
        }
        let (mut mosts, mut totals) = ([T::zero(); SHORT_ROWS], [T::zero(); SHORT_ROWS]);
        let (mosts, totals) = (&mut mosts[..shares.len()], &mut totals[..shares.len()]);
        fold_lines(scores, self.keys, |v, most| greater(most, v), mosts);
        for (row, most) in scores.chunks_exact_mut(self.keys).zip(&mut *mosts) {
            // Of nothing but -∞, all exponentials are 0.
            if *most == T::NEG_INFINITY {
                *most = T::zero();
            }
            update_short(row, |v| v.minus(*most));
        }
        scores.iter_mut().for_each(|v| *v = v.exp_of_negative());
        fold_lines_of(scores, self.keys, |v| v, T::zero(), T::plus, totals);
        write_shares_and_logs(mosts, totals, shares, logs);
    }

    /// Which of the keys the query of a row sees.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn visible(&self, index: usize) -> Range<usize> {
        let Some(causal) = self.of.causal else {
            return 0..self.keys;
        };
        let visible = causal.visible(self.first_query + index, self.first_key + self.keys);
        visible.start - self.first_key..visible.end - self.first_key
    }
}

/// Multiplies scores by a number, adds others and returns the greatest of the sums, in lanes. With the greatest in a loop of its
/// own, attention takes 1.4 times as long, because of what the compiler makes of this one.
#[inline(always)]
#[allow(clippy::inline_always)]
fn scale_and_add<T: Float>(scores: &mut [T], scale: T, numbers: &[T]) -> [T; LANES] {
    let mut most = [T::NEG_INFINITY; LANES];
    let (scores, last_scores) = scores.as_chunks_mut::<LANES>();
    let (numbers, last_numbers) = numbers.as_chunks::<LANES>();
    for (scores, numbers) in scores.iter_mut().zip(numbers) {
        let mut sums = [T::zero(); LANES];
        for i in 0..LANES {
            sums[i] = scores[i].times(scale).plus(numbers[i]);
        }
        *scores = sums;
        for i in 0..LANES {
            most[i] = greater(most[i], sums[i]);
        }
    }
    let last = last_scores.iter_mut().zip(last_numbers);
    for (most, (score, &number)) in most.iter_mut().zip(last) {
        *score = score.times(scale).plus(number);
        *most = greater(*most, *score);
    }
    most
}

/// The exponentials of scores, after the greatest of each row was subtracted: the softmax up to a factor for each row.
pub(super) struct Softmax<'a, T: Float> {
    pub(super) block: ScoreBlock<'a, T>,
    pub(super) scores: &'a mut [T],
    /// The factor of each row, 0 where nothing is seen.
    pub(super) shares: &'a mut [T],
    /// `ln Σ eˣ` of each row.
    pub(super) logs: &'a mut [f64],
}

impl<T: Float> Loop for Softmax<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self {
            block,
            scores,
            shares,
            logs,
        } = self;
        if block.keys < WIDE_LANES {
            let (rows, size) = (SHORT_ROWS, SHORT_ROWS * block.keys);
            let outs = shares.chunks_mut(rows).zip(logs.chunks_mut(rows));
            for (group, (scores, (shares, logs))) in scores.chunks_mut(size).zip(outs).enumerate() {
                block.exps_of_short_rows(group * rows, scores, shares, logs);
            }
            return;
        }
        let rows = rows_of(block.keys);
        let outs = shares.chunks_mut(rows).zip(logs.chunks_mut(rows));
        let groups = scores.chunks_mut(rows * block.keys).zip(outs);
        for (group, (scores, (shares, logs))) in groups.enumerate() {
            let mut seen = [const { 0..0 }; ROWS];
            let mut lanes = [[T::NEG_INFINITY; LANES]; ROWS];
            for (i, row) in scores.chunks_exact_mut(block.keys).enumerate() {
                (seen[i], lanes[i]) = block.finish(row, group * rows + i);
            }
            let (mut mosts, mut totals) = ([T::zero(); ROWS], [T::zero(); ROWS]);
            for i in 0..ROWS {
                mosts[i] = max_of_lanes(lanes[i]);
            }
            for (i, row) in scores.chunks_exact_mut(block.keys).enumerate() {
                // Of nothing but -∞, all exponentials are 0.
                let is_seen = mosts[i] != T::NEG_INFINITY;
                let most = if is_seen { mosts[i] } else { T::zero() };
                for v in &mut row[seen[i].clone()] {
                    *v = v.minus(most).exp_of_negative();
                }
            }
            for (i, row) in scores.chunks_exact(block.keys).enumerate() {
                for part in row[seen[i].clone()].chunks(LANES_BLOCK) {
                    totals[i] = totals[i].plus(Sum(part).run());
                }
            }
            write_shares_and_logs(&mosts, &totals, shares, logs);
        }
    }
}

/// The factors and logarithms of rows, from the greatest score of each and the sum of its exponentials. The logarithms are
/// computed side by side.
#[inline(always)]
#[allow(clippy::inline_always)]
fn write_shares_and_logs<T: Float>(mosts: &[T], totals: &[T], shares: &mut [T], logs: &mut [f64]) {
    for (log, total) in zip_mut(logs, totals) {
        *log = Float::ln(total.to_f64());
    }
    for (log, most) in zip_mut(logs, mosts) {
        *log += most.to_f64();
    }
    for (share, &total) in zip_mut(shares, totals) {
        let is_seen = total != T::zero();
        *share = if is_seen { total.recip() } else { total };
    }
}

/// The softmax again, from `ln Σ eˣ` of each row.
pub(super) struct Probabilities<'a, T: Float> {
    pub(super) block: ScoreBlock<'a, T>,
    pub(super) scores: &'a mut [T],
    pub(super) logs: &'a [f64],
}

impl<T: Float> Loop for Probabilities<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let is_short = self.block.keys < WIDE_LANES;
        let rows = self.scores.chunks_exact_mut(self.block.keys);
        for (i, (row, &log)) in rows.zip(self.logs).enumerate() {
            let (seen, _) = self.block.finish(row, i);
            if is_short {
                let seen = if log == f64::NEG_INFINITY { 0..0 } else { seen };
                let (high, low) = split::<T>(log);
                hide_others(row, &seen, |v| v.minus(high).minus(low));
                continue;
            }
            let row = &mut row[seen];
            if log == f64::NEG_INFINITY {
                row.fill(T::zero());
                continue;
            }
            let (high, low) = split::<T>(log);
            for v in row {
                *v = v.minus(high).minus(low).exp_of_negative();
            }
        }
        if is_short {
            let scores = self.scores.iter_mut();
            scores.for_each(|v| *v = v.exp_of_negative());
        }
    }
}

/// `f` of each score that is seen; the others become those whose exponential is 0. The exponentials of short rows are computed
/// together, because alone they fill no lanes.
#[inline(always)]
#[allow(clippy::inline_always)]
fn hide_others<T: Float>(row: &mut [T], seen: &Range<usize>, f: impl Fn(T) -> T) {
    row[..seen.start].fill(T::NEG_INFINITY);
    row[seen.end..].fill(T::NEG_INFINITY);
    update_short(&mut row[seen.clone()], f);
}

/// The gradients of products of queries and keys, in place of those of the probabilities `p`: `scale p (gradient - Σ g y)`, for
/// rows `g` of the output's gradient and `y` of the output.
pub(super) struct ScoreGrads<'a, T> {
    pub(super) grads: &'a mut [T],
    pub(super) p: &'a [T],
    pub(super) keys: usize,
    pub(super) g: &'a [T],
    pub(super) y: &'a [T],
    pub(super) width: usize,
    pub(super) scale: T,
}

impl<T: Float> Loop for ScoreGrads<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let rows = self.grads.chunks_exact_mut(self.keys);
        for (i, (grads, p)) in rows.zip(self.p.chunks_exact(self.keys)).enumerate() {
            // `Σ g y` is also `Σ p (g vᵀ)`, which is exact for one key: its score has no gradient.
            let along = match self.keys <= self.width {
                true => sum_of2(grads, p, T::times),
                false => {
                    let at = i * self.width..(i + 1) * self.width;
                    sum_of2(&self.g[at.clone()], &self.y[at], T::times)
                }
            };
            for (grad, &p) in grads.iter_mut().zip(p) {
                *grad = grad.minus(along).times(p).times(self.scale);
            }
        }
    }
}

/// Multiplies each row by a number.
pub(super) struct ScaleRows<'a, T> {
    pub(super) rows: &'a mut [T],
    pub(super) width: usize,
    pub(super) factors: &'a [T],
}

impl<T: Float> Loop for ScaleRows<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let rows = self.rows.chunks_exact_mut(self.width.max(1));
        for (row, &factor) in rows.zip(self.factors) {
            for v in row {
                *v = v.times(factor);
            }
        }
    }
}
