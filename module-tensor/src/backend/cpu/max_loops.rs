//! The loops of max pooling: of numbers that meet, the greater and its offset.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

#[cfg(test)]
mod tests;

use std::ops::Range;

use super::number::Number;
use super::simd::Loop;
use super::transpose::lines_of_columns;
use crate::zip::zip_mut2;

/// How far a maximum lies from the start of its window.
pub(super) trait Offset: Copy + Default + Send + Sync {
    fn plus(self, distance: usize) -> Self;
    fn to_i64(self) -> i64;
    /// Writes columns of lines of `pitch` offsets one after the other.
    fn lines_of_columns(x: &[Self], pitch: usize, out: &mut [Self]);
}

/// Where only the maxima are asked for.
impl Offset for () {
    #[inline(always)]
    fn plus(self, _: usize) {}

    #[inline(always)]
    fn to_i64(self) -> i64 {
        0
    }

    fn lines_of_columns(_: &[Self], _: usize, _: &mut [Self]) {}
}

impl Offset for u32 {
    #[inline(always)]
    fn plus(self, distance: usize) -> Self {
        self.wrapping_add(distance as Self)
    }

    #[inline(always)]
    fn to_i64(self) -> i64 {
        i64::from(self)
    }

    fn lines_of_columns(x: &[Self], pitch: usize, out: &mut [Self]) {
        // Only their bits are moved.
        let x: &[f32] = bytemuck::cast_slice(x);
        lines_of_columns(x, pitch, bytemuck::cast_slice_mut(out));
    }
}

impl Offset for i64 {
    #[inline(always)]
    fn plus(self, distance: usize) -> Self {
        self.wrapping_add(distance as Self)
    }

    #[inline(always)]
    fn to_i64(self) -> i64 {
        self
    }

    fn lines_of_columns(x: &[Self], pitch: usize, out: &mut [Self]) {
        lines_of_columns(x, pitch, out);
    }
}

/// Maxima, each with its offset.
#[derive(Clone, Copy)]
pub(super) struct Maxima<'a, T, O> {
    pub(super) values: &'a [T],
    pub(super) offsets: &'a [O],
}

impl<'a, T: Copy, O: Copy> Maxima<'a, T, O> {
    #[inline(always)]
    pub(super) fn range(self, range: Range<usize>) -> Self {
        Self {
            values: &self.values[range.clone()],
            offsets: &self.offsets[range],
        }
    }

    #[inline(always)]
    pub(super) fn first(self, count: usize) -> Self {
        self.range(0..count)
    }

    #[inline(always)]
    pub(super) fn skip(self, count: usize) -> Self {
        Self {
            values: &self.values[count..],
            offsets: &self.offsets[count..],
        }
    }

    #[inline(always)]
    pub(super) fn at(self, index: usize) -> (T, O) {
        (self.values[index], self.offsets[index])
    }

    #[inline(always)]
    fn block(self, start: usize) -> Option<(&'a [T; LANES], &'a [O; LANES])> {
        let values = self.values.get(start..)?.first_chunk()?;
        Some((values, self.offsets.get(start..)?.first_chunk()?))
    }
}

/// Maxima to be written.
pub(super) struct MaximaMut<'a, T, O> {
    pub(super) values: &'a mut [T],
    pub(super) offsets: &'a mut [O],
}

impl<'a, T: Copy, O: Copy> MaximaMut<'a, T, O> {
    #[inline(always)]
    pub(super) fn range(&mut self, range: Range<usize>) -> MaximaMut<'_, T, O> {
        MaximaMut {
            values: &mut self.values[range.clone()],
            offsets: &mut self.offsets[range],
        }
    }

    #[inline(always)]
    pub(super) fn skip(&mut self, count: usize) -> MaximaMut<'_, T, O> {
        MaximaMut {
            values: &mut self.values[count..],
            offsets: &mut self.offsets[count..],
        }
    }

    pub(super) fn reborrow(&mut self) -> MaximaMut<'_, T, O> {
        self.skip(0)
    }

    pub(super) fn read(&self) -> Maxima<'_, T, O> {
        Maxima {
            values: self.values,
            offsets: self.offsets,
        }
    }

    pub(super) fn split_at(self, count: usize) -> (Self, MaximaMut<'a, T, O>) {
        let (values, more_values) = self.values.split_at_mut(count);
        let (offsets, more_offsets) = self.offsets.split_at_mut(count);
        let more = MaximaMut {
            values: more_values,
            offsets: more_offsets,
        };
        (Self { values, offsets }, more)
    }

    /// Copies as many as there are.
    pub(super) fn copy_from(&mut self, from: Maxima<'_, T, O>) {
        let len = self.values.len().min(from.values.len());
        self.values[..len].copy_from_slice(&from.values[..len]);
        self.offsets[..len].copy_from_slice(&from.offsets[..len]);
    }

    #[inline(always)]
    pub(super) fn set(&mut self, index: usize, (value, offset): (T, O)) {
        self.values[index] = value;
        self.offsets[index] = offset;
    }

    #[inline(always)]
    fn block(&mut self, start: usize) -> Option<(&mut [T; LANES], &mut [O; LANES])> {
        let values = self.values.get_mut(start..)?.first_chunk_mut()?;
        Some((values, self.offsets.get_mut(start..)?.first_chunk_mut()?))
    }
}

/// The first of two if it is greater or as great, and else the second; NaN is greater than any number and than a
/// NaN before it.
///
/// Of several in a row it does not matter which neighbors meet first. Which is greater is unpredictable, so it is
/// selected without a branch.
#[inline(always)]
pub(super) fn greater<T: Number, O: Copy>(first: (T, O), second: (T, O)) -> (T, O) {
    let is_second = (second.0 > first.0) | second.0.is_nan();
    let value = if is_second { second.0 } else { first.0 };
    (value, if is_second { second.1 } else { first.1 })
}

/// Maxima at a distance from those that they meet.
pub(super) type Distant<'a, T, O> = (Maxima<'a, T, O>, usize);

/// `to[i] = greater(first[i], others[..][i])`
pub(super) struct Meet<'a, T, O, const N: usize> {
    pub(super) first: Maxima<'a, T, O>,
    pub(super) others: [Distant<'a, T, O>; N],
    pub(super) to: MaximaMut<'a, T, O>,
}

impl<T: Number, O: Offset, const N: usize> Loop for Meet<'_, T, O, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            first,
            mut others,
            to,
        } = self;
        let len = shared_len(&others, &to).min(first.values.len());
        // By index, because many slices are side by side.
        let first = first.first(len);
        for other in &mut others {
            other.0 = other.0.first(len);
        }
        let (values, offsets) = (&mut to.values[..len], &mut to.offsets[..len]);
        for i in 0..len {
            (values[i], offsets[i]) = greater_of_all(first.at(i), &others, i);
        }
    }
}

/// The number of elements that all have.
#[inline(always)]
fn shared_len<T, O>(others: &[Distant<'_, T, O>], to: &MaximaMut<'_, T, O>) -> usize {
    let len = to.values.len().min(to.offsets.len());
    others
        .iter()
        .fold(len, |len, (other, _)| len.min(other.values.len()))
}

#[inline(always)]
fn greater_of_all<T: Number, O: Offset, const N: usize>(
    first: (T, O),
    others: &[Distant<'_, T, O>; N],
    i: usize,
) -> (T, O) {
    let mut best = first;
    for &(other, distance) in others {
        let (value, offset) = other.at(i);
        best = greater(best, (value, offset.plus(distance)));
    }
    best
}

/// The greater of neighbors, two by two.
pub(super) struct MeetPairs<'a, T, O> {
    pub(super) from: Maxima<'a, T, O>,
    pub(super) distance: usize,
    pub(super) to: MaximaMut<'a, T, O>,
}

impl<T: Number, O: Offset> Loop for MeetPairs<'_, T, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { from, distance, to } = self;
        let pairs = from.values.as_chunks().0;
        let their_offsets = from.offsets.as_chunks().0;
        let len = pairs.len().min(their_offsets.len());
        let len = len.min(to.values.len()).min(to.offsets.len());
        let (pairs, their_offsets) = (&pairs[..len], &their_offsets[..len]);
        let (values, offsets) = (&mut to.values[..len], &mut to.offsets[..len]);
        for i in 0..len {
            let ([a, b], [p, q]) = (pairs[i], their_offsets[i]);
            (values[i], offsets[i]) = greater((a, p), (b, q.plus(distance)));
        }
    }
}

/// `to[i] = greater(to[i], others[..][i])`
///
/// They are two, so that no store is masked (see [`simd`](super::simd)).
pub(super) struct MeetTwoMore<'a, T, O> {
    pub(super) others: [Distant<'a, T, O>; 2],
    pub(super) to: MaximaMut<'a, T, O>,
}

impl<T: Number, O: Offset> Loop for MeetTwoMore<'_, T, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self { mut others, to } = self;
        let len = shared_len(&others, &to);
        for other in &mut others {
            other.0 = other.0.first(len);
        }
        let (values, offsets) = (&mut to.values[..len], &mut to.offsets[..len]);
        for i in 0..len {
            (values[i], offsets[i]) = greater_of_all((values[i], offsets[i]), &others, i);
        }
    }
}

/// The number of columns that are computed side by side.
const LANES: usize = 16;

/// The maxima of windows of rows, column by column.
pub(super) struct MeetRows<'a, T, O> {
    pub(super) from: Maxima<'a, T, O>,
    /// The number of elements from one row to the next.
    pub(super) pitch: usize,
    /// The first row and the number of rows of each window; at least one.
    pub(super) windows: &'a [(usize, usize)],
    /// The distance between rows of a window, and that by which offsets grow from one to the next.
    pub(super) step: usize,
    pub(super) distance: usize,
    /// The maxima, `columns` for each window.
    pub(super) to: MaximaMut<'a, T, O>,
    pub(super) columns: usize,
}

impl<T: Number, O: Offset> Loop for MeetRows<'_, T, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            from,
            pitch,
            windows,
            step,
            distance,
            mut to,
            columns,
        } = self;
        let step = step * pitch;
        for (row, &(first, count)) in windows.iter().enumerate() {
            let from = from.skip(first * pitch);
            let mut to = to.skip(row * columns);
            let room = to.values.len().min(from.values.len() - (count - 1) * step);
            let mut done = 0;
            while done < columns {
                // What overhangs the end of a row is overwritten by the next one. Where there is none, some columns
                // are computed twice.
                let start = match columns.checked_sub(LANES) {
                    Some(start) if done + LANES > room => start,
                    None if done + LANES > room => break,
                    _ => done,
                };
                let (Some((values, offsets)), Some(slots)) = (from.block(start), to.block(start))
                else {
                    break;
                };
                let (mut values, mut offsets) = (*values, *offsets);
                for k in 1..count {
                    let Some((next, theirs)) = from.block(start + k * step) else {
                        break;
                    };
                    for i in 0..LANES {
                        let second = (next[i], theirs[i].plus(k * distance));
                        (values[i], offsets[i]) = greater((values[i], offsets[i]), second);
                    }
                }
                (*slots.0, *slots.1) = (values, offsets);
                done = start + LANES;
            }
            for column in done..columns {
                let mut best = from.at(column);
                for k in 1..count {
                    let (value, offset) = from.at(column + k * step);
                    best = greater(best, (value, offset.plus(k * distance)));
                }
                to.set(column, best);
            }
        }
    }
}

/// The positions of maxima, each at its offset from the start of its window: the sum of a number for each row, a
/// number for each column and the offset.
pub(super) struct Locate<'a, O> {
    pub(super) rows: &'a [usize],
    pub(super) columns: &'a [i64],
    pub(super) offsets: &'a [O],
    pub(super) to: &'a mut [i64],
}

impl<O: Offset> Loop for Locate<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            rows,
            columns,
            mut offsets,
            mut to,
        } = self;
        for &row in rows {
            for (to, &column, &offset) in zip_mut2(to, columns, offsets) {
                *to = offset.to_i64() + (row as i64 + column);
            }
            offsets = &offsets[columns.len()..];
            to = &mut to[columns.len()..];
        }
    }
}
