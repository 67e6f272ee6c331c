//! The loops of average pooling and interpolation: weighted sums of lines.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::number::Number;
use super::simd::Loop;
use crate::zip::{zip_mut, zip_mut2};

/// What a sum or a summand is multiplied with or divided by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale<T> {
    Keep,
    Times(T),
    Over(T),
}

impl<T: Number> Scale<T> {
    #[inline(always)]
    pub(super) fn of(self, v: T) -> T {
        match self {
            Self::Keep => v,
            Self::Times(factor) => v * factor,
            Self::Over(divisor) => v / divisor,
        }
    }
}

/// `to[i] = scale(from[i])`
pub(super) struct ScaleLine<'a, T> {
    pub(super) from: &'a [T],
    pub(super) scale: Scale<T>,
    pub(super) to: &'a mut [T],
}

impl<T: Number> Loop for ScaleLine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.scale {
            Scale::Keep => zip_mut(self.to, self.from).for_each(|(to, &v)| *to = v),
            Scale::Times(by) => zip_mut(self.to, self.from).for_each(|(to, &v)| *to = v * by),
            Scale::Over(by) => zip_mut(self.to, self.from).for_each(|(to, &v)| *to = v / by),
        }
    }
}

/// A line, and the factor of its elements.
#[derive(Clone, Copy)]
pub(super) struct Term<'a, T> {
    pub(super) line: &'a [T],
    pub(super) factor: Option<T>,
}

/// The sum of two lines. Sums of products are not scaled.
pub(super) struct SumTwo<'a, T> {
    pub(super) first: Term<'a, T>,
    pub(super) second: Term<'a, T>,
    pub(super) scale: Scale<T>,
    pub(super) to: &'a mut [T],
}

impl<T: Number> Loop for SumTwo<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            first,
            second,
            scale,
            to,
        } = self;
        let lines = zip_mut2(to, first.line, second.line);
        match (first.factor, second.factor, scale) {
            (Some(a), Some(b), _) => lines.for_each(|(to, &v, &w)| *to = (v * a).plus(w * b)),
            (.., Scale::Keep) => lines.for_each(|(to, &v, &w)| *to = v.plus(w)),
            (.., Scale::Times(by)) => lines.for_each(|(to, &v, &w)| *to = v.plus(w) * by),
            (.., Scale::Over(by)) => lines.for_each(|(to, &v, &w)| *to = v.plus(w) / by),
        }
    }
}

/// Adds a line to sums, which are scaled then, unless they are sums of products.
pub(super) struct AddLine<'a, T> {
    pub(super) term: Term<'a, T>,
    pub(super) scale: Scale<T>,
    pub(super) to: &'a mut [T],
}

impl<T: Number> Loop for AddLine<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { term, scale, to } = self;
        let lines = zip_mut(to, term.line);
        match (term.factor, scale) {
            (Some(factor), _) => lines.for_each(|(sum, &v)| *sum = sum.plus(v * factor)),
            (None, Scale::Keep) => lines.for_each(|(sum, &v)| *sum = sum.plus(v)),
            (None, Scale::Times(by)) => lines.for_each(|(sum, &v)| *sum = sum.plus(v) * by),
            (None, Scale::Over(by)) => lines.for_each(|(sum, &v)| *sum = sum.plus(v) / by),
        }
    }
}

/// The sums of neighbors, two by two.
pub(super) struct SumPairs<'a, T> {
    pub(super) from: &'a [T],
    pub(super) scale: Scale<T>,
    pub(super) to: &'a mut [T],
}

impl<T: Number> Loop for SumPairs<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { from, scale, to } = self;
        let pairs = zip_mut(to, from.as_chunks().0);
        match scale {
            Scale::Keep => pairs.for_each(|(to, &[v, w])| *to = v.plus(w)),
            Scale::Times(by) => pairs.for_each(|(to, &[v, w])| *to = v.plus(w) * by),
            Scale::Over(by) => pairs.for_each(|(to, &[v, w])| *to = v.plus(w) / by),
        }
    }
}

/// Sums of neighboring rows of `columns` elements, in two blocks of `LANES` columns side by side: one alone would
/// wait for its own sums.
pub(super) struct SumRows<'a, T, const LANES: usize> {
    pub(super) from: &'a [T],
    pub(super) columns: usize,
    /// The rows of each sum.
    pub(super) ranges: &'a [Range<usize>],
    /// The factor of each row of each sum, one after the other, unless all are 1.
    pub(super) factors: Option<&'a [T]>,
    /// What each sum is scaled by.
    pub(super) scales: &'a [Scale<T>],
    pub(super) to: &'a mut [T],
}

impl<T: Number, const LANES: usize> Loop for SumRows<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            from,
            columns,
            ranges,
            factors,
            scales,
            to,
        } = self;
        let mut used = 0;
        for (row, range) in ranges.iter().enumerate() {
            let to = &mut to[row * columns..];
            let Some(last) = range.len().checked_sub(1) else {
                to[..columns].fill(T::zero());
                continue;
            };
            let lines = &from[range.start * columns..];
            let factors = factors.map(|factors| &factors[used..=used + last]);
            used += last + 1;
            let room = to.len().min(lines.len() - last * columns);
            // The last block ends where the row does, so that some columns are computed twice. That of a short row
            // overhangs its end and is overwritten by the next row, if there is one.
            let end = columns.saturating_sub(LANES);
            let is_room = room >= LANES;
            let mut done = if is_room { 0 } else { columns };
            while done < columns {
                let starts = [done.min(end), (done + LANES).min(end)];
                let (Some(first), Some(second)) =
                    (block(lines, starts[0]), block(lines, starts[1]))
                else {
                    break;
                };
                let (mut first, mut second): ([T; LANES], [T; LANES]) = (*first, *second);
                match factors {
                    None => {
                        for k in 1..=last {
                            let line = &lines[k * columns..];
                            let (Some(a), Some(b)) = (
                                block::<T, LANES>(line, starts[0]),
                                block::<T, LANES>(line, starts[1]),
                            ) else {
                                break;
                            };
                            zip_mut(&mut first, a).for_each(|(sum, &v)| *sum = sum.plus(v));
                            zip_mut(&mut second, b).for_each(|(sum, &v)| *sum = sum.plus(v));
                        }
                    }
                    Some(factors) => {
                        let factor = factors[0];
                        first.iter_mut().for_each(|v| *v = *v * factor);
                        second.iter_mut().for_each(|v| *v = *v * factor);
                        for (k, &factor) in factors.iter().enumerate().skip(1) {
                            let line = &lines[k * columns..];
                            let (Some(a), Some(b)) = (
                                block::<T, LANES>(line, starts[0]),
                                block::<T, LANES>(line, starts[1]),
                            ) else {
                                break;
                            };
                            let add = |(sum, &v): (&mut T, &T)| *sum = sum.plus(v * factor);
                            zip_mut(&mut first, a).for_each(add);
                            zip_mut(&mut second, b).for_each(add);
                        }
                    }
                }
                match scales[row] {
                    Scale::Keep => {}
                    Scale::Times(by) => {
                        first.iter_mut().for_each(|v| *v = *v * by);
                        second.iter_mut().for_each(|v| *v = *v * by);
                    }
                    Scale::Over(by) => {
                        first.iter_mut().for_each(|v| *v = *v / by);
                        second.iter_mut().for_each(|v| *v = *v / by);
                    }
                }
                if let Some(slot) = to[starts[0]..].first_chunk_mut() {
                    *slot = first;
                }
                if let Some(slot) = to[starts[1]..].first_chunk_mut() {
                    *slot = second;
                }
                done += 2 * LANES;
            }
            for column in if is_room { columns } else { 0 }..columns {
                let value = |k: usize| {
                    let v = lines[k * columns + column];
                    factors.map_or(v, |factors| v * factors[k])
                };
                let sum = (1..=last).fold(value(0), |sum, k| sum.plus(value(k)));
                to[column] = scales[row].of(sum);
            }
        }
    }
}

#[inline(always)]
fn block<T, const LANES: usize>(from: &[T], start: usize) -> Option<&[T; LANES]> {
    from.get(start..)?.first_chunk()
}

#[cfg(test)]
mod tests {
    use super::{AddLine, Scale, ScaleLine, SumPairs, SumRows, SumTwo, Term};
    use crate::simd::{Loop, run_at_best_level};

    /// Checks that a loop gives the same on every processor as on this one.
    macro_rules! check {
        ($to:ident => $work:expr) => {{
            let (mut plain, mut best) = ([0.5_f32; 150], [0.5_f32; 150]);
            let $to = &mut plain[..];
            Loop::run($work);
            let $to = &mut best[..];
            run_at_best_level($work);
            assert_eq!(plain.map(f32::to_bits), best.map(f32::to_bits));
            assert_ne!(plain, [0.5; 150]);
        }};
    }

    #[test]
    fn every_level_sums_alike() {
        let numbers: Vec<f32> = (0..400).map(|i| 1.0 / (i as f32 - 99.5)).collect();
        let term = |start: usize, factor| Term {
            line: &numbers[start..],
            factor,
        };
        let ranges = [0..3, 1..4, 4..4, 2..7];
        let factors: Vec<f32> = (0..11).map(|i| i as f32 / 7.0).collect();
        for scale in [Scale::Keep, Scale::Times(0.3), Scale::Over(0.7)] {
            let from = &numbers[..];
            check!(to => ScaleLine { from, scale, to });
            check!(to => SumPairs { from, scale, to });
            for factor in [None, Some(1.1)] {
                let (first, second) = (term(1, factor), term(20, factor));
                check!(to => SumTwo { first, second, scale, to });
                check!(to => AddLine { term: first, scale, to });
            }
            let scales = &[scale; 4][..];
            for factors in [None, Some(&factors[..])] {
                let (ranges, columns) = (&ranges, 37);
                check!(to => SumRows::<f32, 16> { from, columns, ranges, factors, scales, to });
                check!(to => SumRows::<f32, 32> { from, columns, ranges, factors, scales, to });
            }
        }
    }
}
