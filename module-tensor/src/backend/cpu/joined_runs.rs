//! The elements of runs, side by side.

use super::Element;
use super::aligned_vec::AlignedVec;
use super::strided_lines::StridedLines;
use crate::layout::{Block, Blocks, Layout, Runs};

/// How many elements are gathered at a time: those of two operands and of the result stay in the first cache.
pub(super) const BLOCK: usize = 2048;

/// Runs of fewer elements are joined: a loop over each would end before it is fast.
const SHORT: usize = 256;

/// The runs that are read together.
#[derive(Clone, Copy)]
pub(super) struct Group {
    /// The number of blocks.
    blocks: usize,
    /// Whether it is one run.
    is_run: bool,
}

impl Group {
    /// The blocks of layouts, and how they are read.
    pub(super) fn of<const N: usize>(layouts: [&Layout; N]) -> (Blocks<N>, Self) {
        let blocks = Runs::new(layouts).blocks(SHORT, BLOCK);
        let group = match blocks.are_runs() {
            true => 1,
            false => (BLOCK / blocks.numel().max(1)).max(1),
        };
        let is_run = blocks.are_runs();
        (
            blocks,
            Self {
                blocks: group,
                is_run,
            },
        )
    }

    /// Passes the next blocks that are read together to `add`; returns the number of their elements, if there are any.
    pub(super) fn read<const N: usize>(
        self,
        blocks: &mut Blocks<N>,
        mut add: impl FnMut(&Block<N>),
    ) -> Option<usize> {
        let mut length = 0;
        for block in blocks.take(self.blocks) {
            length += block.count * block.length;
            add(&block);
        }
        (length > 0).then_some(length)
    }

    /// The runs of an operand, of which none has been read.
    pub(super) fn joined<'a, T: Element>(self, data: &'a [T], layout: &Layout) -> Joined<'a, T> {
        Joined {
            data,
            follow: self.is_run || layout.is_contiguous(),
            start: None,
            most: layout.shape().numel().min(BLOCK),
            buffer: AlignedVec::new(),
            filled: 0,
            is_taken: false,
        }
    }
}

/// Runs of an operand, side by side: where they lie, or gathered into a buffer.
pub(super) struct Joined<'a, T: Element> {
    data: &'a [T],
    /// Whether the runs of a group that have step 1 follow each other in memory.
    follow: bool,
    /// Where these start.
    start: Option<usize>,
    /// The number of elements that are read together, at most.
    most: usize,
    buffer: AlignedVec<T>,
    /// The number of elements that were gathered.
    filled: usize,
    is_taken: bool,
}

impl<T: Element> Joined<'_, T> {
    /// Adds the runs of the operand `i` of a block.
    pub(super) fn add<const N: usize>(&mut self, block: &Block<N>, i: usize) {
        if std::mem::take(&mut self.is_taken) {
            self.filled = 0;
            self.start = None;
        }
        let (offset, step) = (block.offsets[i], block.steps[i]);
        if self.follow && step == 1 {
            self.start.get_or_insert(offset);
            return;
        }
        if self.buffer.is_empty() {
            self.buffer = AlignedVec::unspecified(self.most);
        }
        let numel = block.count * block.length;
        let to = self.buffer.get_mut(self.filled..).unwrap_or_default();
        self.filled += numel;
        let lines = StridedLines {
            data: self.data.get(offset..).unwrap_or_default(),
            stride: block.strides[i],
            step,
            length: block.length,
        };
        lines.copy_to(to.get_mut(..numel).unwrap_or_default());
    }

    /// The elements of the runs that were added since the last call, of which there are `length`.
    pub(super) fn take(&mut self, length: usize) -> &[T] {
        self.is_taken = true;
        match self.start {
            Some(start) => self.data.get(start..start + length).unwrap_or_default(),
            None => self.buffer.get(..length).unwrap_or_default(),
        }
    }
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
            buffer.resize(length, T::default());
            StridedLines::one(data, step, length).copy_to(buffer);
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
        let short = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65];
        let long = [SHORT - 1, SHORT, SHORT + 1, BLOCK, BLOCK + 5];
        let rows: &[usize] = if cfg!(miri) { &[2] } else { &[1, 2, 70, 300] };
        for columns in short.into_iter().chain(long) {
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
