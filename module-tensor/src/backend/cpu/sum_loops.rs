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

/// Sums of neighboring rows of `columns` elements, `LANES` columns side by side.
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
            let from = &from[range.start * columns..];
            let (factors, scale) = (
                factors.map(|factors| &factors[used..=used + last]),
                scales[row],
            );
            used += last + 1;
            let room = to.len().min(from.len() - last * columns);
            let mut done = 0;
            while done < columns {
                // What overhangs the end of a row is overwritten by the next one. Where there is none, some columns
                // are computed twice.
                let start = match columns.checked_sub(LANES) {
                    Some(start) if done + LANES > room => start,
                    None if done + LANES > room => break,
                    _ => done,
                };
                let (Some(first), Some(slot)) = (block(from, start), block_mut(to, start)) else {
                    break;
                };
                let mut sums: [T; LANES] = *first;
                match factors {
                    None => {
                        for k in 1..=last {
                            let Some(next) = block::<T, LANES>(from, start + k * columns) else {
                                break;
                            };
                            zip_mut(&mut sums, next).for_each(|(sum, &v)| *sum = sum.plus(v));
                        }
                    }
                    Some(factors) => {
                        sums.iter_mut().for_each(|v| *v = *v * factors[0]);
                        for (k, &factor) in factors.iter().enumerate().skip(1) {
                            let Some(next) = block::<T, LANES>(from, start + k * columns) else {
                                break;
                            };
                            zip_mut(&mut sums, next)
                                .for_each(|(sum, &v)| *sum = sum.plus(v * factor));
                        }
                    }
                }
                match scale {
                    Scale::Keep => {}
                    Scale::Times(by) => sums.iter_mut().for_each(|v| *v = *v * by),
                    Scale::Over(by) => sums.iter_mut().for_each(|v| *v = *v / by),
                }
                *slot = sums;
                done = start + LANES;
            }
            for column in done..columns {
                let value = |k: usize| {
                    let v = from[k * columns + column];
                    factors.map_or(v, |factors| v * factors[k])
                };
                let sum = (1..=last).fold(value(0), |sum, k| sum.plus(value(k)));
                to[column] = scale.of(sum);
            }
        }
    }
}

#[inline(always)]
fn block<T, const LANES: usize>(from: &[T], start: usize) -> Option<&[T; LANES]> {
    from.get(start..)?.first_chunk()
}

#[inline(always)]
fn block_mut<T, const LANES: usize>(to: &mut [T], start: usize) -> Option<&mut [T; LANES]> {
    to.get_mut(start..)?.first_chunk_mut()
}
