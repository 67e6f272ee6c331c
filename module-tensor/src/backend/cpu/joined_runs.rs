//! The elements of runs, side by side.

use super::Element;
use crate::layout::{Layout, Pieces, Run};

/// How many elements are gathered at a time.
pub(super) const BLOCK: usize = 4096;

/// Runs of fewer elements are joined: a loop over each would end before it is fast.
const SHORT: usize = 256;

/// How many runs are read together.
#[derive(Clone, Copy)]
pub(super) struct Group {
    runs: usize,
}

impl Group {
    pub(super) fn of<const N: usize>(pieces: &Pieces<N>) -> Self {
        let runs = match pieces.length() {
            SHORT.. => 1,
            length => BLOCK / length.max(1),
        };
        Self { runs }
    }

    /// Passes the next runs that are read together to `add`; returns the number of their elements, if there are any.
    pub(super) fn read<const N: usize>(
        self,
        pieces: &mut Pieces<N>,
        mut add: impl FnMut(Run<N>),
    ) -> Option<usize> {
        let mut length = 0;
        for run in pieces.take(self.runs) {
            length += run.length;
            add(run);
        }
        (length > 0).then_some(length)
    }

    /// The runs of an operand, of which none has been read.
    pub(super) fn joined<'a, T: Element>(self, data: &'a [T], layout: &Layout) -> Joined<'a, T> {
        Joined {
            data,
            follow: self.runs == 1 || layout.is_contiguous(),
            start: None,
            buffer: Vec::new(),
            is_taken: false,
        }
    }
}

/// Runs of an operand, side by side: where they lie, or gathered into a buffer.
pub(super) struct Joined<'a, T> {
    data: &'a [T],
    /// Whether the runs of a group that have step 1 follow each other in memory.
    follow: bool,
    /// Where these start.
    start: Option<usize>,
    buffer: Vec<T>,
    is_taken: bool,
}

impl<T: Element> Joined<'_, T> {
    /// Adds a run.
    pub(super) fn add(&mut self, offset: usize, step: usize, length: usize) {
        if std::mem::take(&mut self.is_taken) {
            self.buffer.clear();
            self.start = None;
        }
        if self.follow && step == 1 {
            self.start.get_or_insert(offset);
            return;
        }
        let data = self.data.get(offset..).unwrap_or_default();
        match (step, data) {
            (1, data) => {
                let data = data.get(..length).unwrap_or_default();
                self.buffer.extend_from_slice(data);
            }
            (0, &[first, ..]) => self.buffer.resize(self.buffer.len() + length, first),
            _ => self.buffer.extend(every(data, step, length)),
        }
    }

    /// The elements of the runs that were added since the last call, of which there are `length`.
    pub(super) fn take(&mut self, length: usize) -> &[T] {
        self.is_taken = true;
        match self.start {
            Some(start) => self.data.get(start..start + length).unwrap_or_default(),
            None => &self.buffer,
        }
    }
}

/// Returns `length` elements of `data`, one every `step`; none if `data` is too short.
#[inline(always)]
#[allow(clippy::inline_always)]
fn every<T: Copy>(data: &[T], step: usize, length: usize) -> impl Iterator<Item = T> {
    let data = data.get(..=length.saturating_sub(1) * step);
    // A layout does not lead out of its storage.
    let (data, length) = data.map_or((&[][..], 0), |data| (data, length));
    (0..length).map(move |i| data[i * step])
}

/// The elements of a run side by side: where they lie, or gathered into `buffer`.
pub(super) fn run<'a, T: Element>(
    data: &'a [T],
    offset: usize,
    step: usize,
    length: usize,
    buffer: &'a mut Vec<T>,
) -> &'a [T] {
    let data = data.get(offset..).unwrap_or_default();
    match (step, data) {
        (1, data) => data.get(..length).unwrap_or_default(),
        (0, &[first, ..]) => {
            buffer.clear();
            buffer.resize(length, first);
            buffer
        }
        _ => {
            buffer.clear();
            buffer.extend(every(data, step, length));
            buffer
        }
    }
}

/// Takes the first elements off a slice.
pub(super) fn next<'a, T>(rest: &mut &'a mut [T], length: usize) -> &'a mut [T] {
    rest.split_off_mut(..length).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::runs::{map1, map2_wide};
    use super::{BLOCK, SHORT};
    use crate::backend::Operand;
    use crate::backend::cpu::CpuStorage;
    use crate::layout::{Layout, Shape};

    /// A row of a matrix, a column, and the matrix itself, whose rows may be longer than they are read.
    fn operand(rows: usize, columns: usize, strides: [usize; 2]) -> (Operand, Vec<i64>) {
        let at = |i: usize| 3 + i / columns * strides[0] + i % columns * strides[1];
        let positions: Vec<usize> = (0..rows * columns).map(at).collect();
        let len = positions.last().map_or(0, |last| last + 1);
        let memory: Vec<i64> = (0..len as i64).map(|i| i * i % 1009).collect();
        let values = positions.iter().map(|&at| memory[at]).collect();
        let shape = Shape::from(&[rows, columns][..]);
        let layout = Layout::within(shape, &strides, 3, len).unwrap();
        let storage = CpuStorage::wrap(memory);
        (Operand { storage, layout }, values)
    }

    #[test]
    fn runs_of_any_length_are_read_in_order() {
        let columns = [1, 2, 7, SHORT - 1, SHORT, SHORT + 1, BLOCK, BLOCK + 5];
        let rows: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 70, 300] };
        for columns in columns {
            for &rows in rows {
                let strides = [
                    [columns, 1],
                    [columns + 2, 1],
                    [0, 1],
                    [1, 0],
                    [2 * columns, 2],
                ];
                for a_strides in strides {
                    let (a, a_values) = operand(rows, columns, a_strides);
                    assert_eq!(*map1(&a, |v: i64| v).unwrap(), a_values);
                    for b_strides in strides {
                        let (b, b_values) = operand(rows, columns, b_strides);
                        let differences = map2_wide(&a, &b, |a: i64, b: i64| a - b).unwrap();
                        let pairs = a_values.iter().zip(&b_values);
                        let expected: Vec<i64> = pairs.map(|(a, b)| a - b).collect();
                        assert_eq!(
                            *differences, expected,
                            "{columns} {a_strides:?} {b_strides:?}"
                        );
                    }
                }
            }
        }
    }
}
