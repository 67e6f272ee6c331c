//! The loops of average pooling and interpolation: weighted sums of lines.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use std::ops::Range;

use super::number::Number;
use super::simd::Loop;
use crate::zip::{zip_mut, zip_mut2};

/// The number that a sum or a summand is multiplied or divided by.
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

    /// Scales all of some numbers.
    #[inline(always)]
    fn apply(self, numbers: &mut [T]) {
        match self {
            Self::Keep => {}
            Self::Times(by) => numbers.iter_mut().for_each(|v| *v = *v * by),
            Self::Over(by) => numbers.iter_mut().for_each(|v| *v = *v / by),
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

/// The sums of the products of two lines with a factor each, for two windows by turns.
pub(super) struct JoinTwo<'a, T> {
    pub(super) windows: [[(&'a [T], T); 2]; 2],
    pub(super) to: &'a mut [[T; 2]],
}

impl<T: Number> Loop for JoinTwo<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { windows, to } = self;
        let [[(a, fa), (b, fb)], [(c, fc), (d, fd)]] = windows;
        let len = to.len();
        let (a, b, c, d) = (&a[..len], &b[..len], &c[..len], &d[..len]);
        for (i, pair) in to.iter_mut().enumerate() {
            let first = (a[i] * fa).plus(b[i] * fb);
            let second = (c[i] * fc).plus(d[i] * fd);
            *pair = [first, second];
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

/// Sums of neighboring rows, `LANES` columns at a time.
pub(super) struct SumRows<'a, T, const LANES: usize>(pub(super) Rows<'a, T>);

/// Rows of `columns` elements, and which of them are summed.
pub(super) struct Rows<'a, T> {
    pub(super) from: &'a [T],
    pub(super) columns: usize,
    /// The rows of each sum.
    pub(super) ranges: &'a [Range<usize>],
    /// The factor of each row of each sum, one after the other, unless all are 1.
    pub(super) factors: Option<&'a [T]>,
    /// The scale of each sum.
    pub(super) scales: &'a [Scale<T>],
    pub(super) to: &'a mut [T],
}

impl<T: Number, const LANES: usize> Loop for SumRows<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Rows {
            from,
            columns,
            ranges,
            factors,
            scales,
            to,
        } = self.0;
        let mut used = 0;
        for (row, range) in ranges.iter().enumerate() {
            let to = &mut to[row * columns..];
            let count = range.len();
            if count == 0 {
                to[..columns].fill(T::zero());
                continue;
            }
            let sum = RowSum {
                lines: &from[range.start * columns..],
                columns,
                factors: factors.map(|factors| &factors[used..][..count]),
                scale: scales[row],
            };
            used += count;
            match count {
                2 if columns >= LANES => sum.few::<2, LANES>(&mut to[..columns]),
                3 if columns >= LANES => sum.few::<3, LANES>(&mut to[..columns]),
                4 if columns >= LANES => sum.few::<4, LANES>(&mut to[..columns]),
                _ => sum.many::<LANES>(count, to),
            }
        }
    }
}

/// One sum of rows.
struct RowSum<'a, T> {
    lines: &'a [T],
    columns: usize,
    factors: Option<&'a [T]>,
    scale: Scale<T>,
}

impl<T: Number> RowSum<'_, T> {
    /// The sum of `COUNT` rows, which are not shorter than a block.
    #[inline(always)]
    fn few<const COUNT: usize, const LANES: usize>(&self, to: &mut [T]) {
        let row = |k: usize, start: usize| &self.lines[k * self.columns + start..][..LANES];
        // The last block ends where the row does, so that some columns are computed twice.
        let end = self.columns - LANES;
        for start in (0..self.columns).step_by(LANES) {
            let start = start.min(end);
            let mut sums = [T::zero(); LANES];
            sums.copy_from_slice(row(0, start));
            match self.factors.and_then(<[T]>::first_chunk::<COUNT>) {
                None => {
                    for k in 1..COUNT {
                        zip_mut(&mut sums, row(k, start)).for_each(|(sum, &v)| *sum = sum.plus(v));
                    }
                }
                Some(factors) => {
                    Scale::Times(factors[0]).apply(&mut sums);
                    for (k, &factor) in factors.iter().enumerate().skip(1) {
                        let add = |(sum, &v): (&mut T, &T)| *sum = sum.plus(v * factor);
                        zip_mut(&mut sums, row(k, start)).for_each(add);
                    }
                }
            }
            self.scale.apply(&mut sums);
            to[start..][..LANES].copy_from_slice(&sums);
        }
    }

    /// The sum of any number of rows, in two blocks side by side: one alone would wait for its own sums.
    #[inline(always)]
    fn many<const LANES: usize>(&self, count: usize, to: &mut [T]) {
        let (lines, columns) = (self.lines, self.columns);
        let room = to.len().min(lines.len() - (count - 1) * columns);
        // The last block ends where the row does. That of a short row overhangs its end and is overwritten by the next
        // row, if there is one.
        let end = columns.saturating_sub(LANES);
        let is_room = room >= LANES;
        let mut done = if is_room { 0 } else { columns };
        while done < columns {
            let starts = [done.min(end), (done + LANES).min(end)];
            let Some((first, second)) = blocks(lines, starts) else {
                break;
            };
            let (mut first, mut second): ([T; LANES], [T; LANES]) = (*first, *second);
            if let Some(factors) = self.factors {
                Scale::Times(factors[0]).apply(&mut first);
                Scale::Times(factors[0]).apply(&mut second);
            }
            for k in 1..count {
                let Some((a, b)) = blocks::<T, LANES>(&lines[k * columns..], starts) else {
                    break;
                };
                match self.factors {
                    None => {
                        zip_mut(&mut first, a).for_each(|(sum, &v)| *sum = sum.plus(v));
                        zip_mut(&mut second, b).for_each(|(sum, &v)| *sum = sum.plus(v));
                    }
                    Some(factors) => {
                        let factor = factors[k];
                        let add = |(sum, &v): (&mut T, &T)| *sum = sum.plus(v * factor);
                        zip_mut(&mut first, a).for_each(add);
                        zip_mut(&mut second, b).for_each(add);
                    }
                }
            }
            for (mut sums, start) in [(first, starts[0]), (second, starts[1])] {
                self.scale.apply(&mut sums);
                if let Some(slot) = to[start..].first_chunk_mut() {
                    *slot = sums;
                }
            }
            done += 2 * LANES;
        }
        for column in if is_room { columns } else { 0 }..columns {
            let value = |k: usize| {
                let v = lines[k * columns + column];
                self.factors.map_or(v, |factors| v * factors[k])
            };
            let sum = (1..count).fold(value(0), |sum, k| sum.plus(value(k)));
            to[column] = self.scale.of(sum);
        }
    }
}

/// Two blocks of a row.
#[inline(always)]
fn blocks<T, const LANES: usize>(
    from: &[T],
    [first, second]: [usize; 2],
) -> Option<(&[T; LANES], &[T; LANES])> {
    Some((
        from.get(first..)?.first_chunk()?,
        from.get(second..)?.first_chunk()?,
    ))
}

#[cfg(test)]
mod tests {
    use super::{AddLine, JoinTwo, Rows, Scale, ScaleLine, SumPairs, SumRows, SumTwo, Term};
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
            let windows = [
                [(from, 0.5), (&from[1..], 0.3)],
                [(&from[1..], 0.7), (&from[2..], 0.9)],
            ];
            check!(to => JoinTwo { windows, to: to.as_chunks_mut().0 });
            for factor in [None, Some(1.1)] {
                let (first, second) = (term(1, factor), term(20, factor));
                check!(to => SumTwo { first, second, scale, to });
                check!(to => AddLine { term: first, scale, to });
            }
            let scales = &[scale; 4][..];
            for factors in [None, Some(&factors[..])] {
                let (ranges, columns) = (&ranges, 37);
                check!(to => SumRows::<f32, 8>(Rows { from, columns, ranges, factors, scales, to }));
                check!(to => SumRows::<f32, 16>(Rows { from, columns, ranges, factors, scales, to }));
                check!(to => SumRows::<f32, 32>(Rows { from, columns, ranges, factors, scales, to }));
            }
        }
    }
}
