//! Matrices that lie in slices.

use std::ops::Range;

/// Bytes apart, elements belong to one set of the first-level cache, which has room for eight lines.
const ALIASED: usize = 4096;

/// Whether lines so many elements apart would push each other out of the first-level cache.
pub(super) fn is_aliased<T>(step: usize) -> bool {
    (step * size_of::<T>()).is_multiple_of(ALIASED)
}

/// A matrix whose element `[i, j]` lies at `i · row_step + j · column_step`.
#[derive(Clone, Copy)]
pub(in super::super) struct Matrix<'a, T> {
    data: &'a [T],
    pub(super) rows: usize,
    pub(super) columns: usize,
    row_step: usize,
    column_step: usize,
}

impl<'a, T: Copy> Matrix<'a, T> {
    /// A matrix of `rows` contiguous rows.
    pub(in super::super) fn new(data: &'a [T], rows: usize) -> Self {
        let columns = data.len() / rows.max(1);
        Self::with_steps(data, [rows, columns], [columns, 1])
    }

    pub(in super::super) fn with_steps(
        data: &'a [T],
        [rows, columns]: [usize; 2],
        [row_step, column_step]: [usize; 2],
    ) -> Self {
        Self {
            data,
            rows,
            columns,
            row_step,
            column_step,
        }
    }

    /// The transposed matrix.
    pub(in super::super) fn t(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_step: self.column_step,
            column_step: self.row_step,
            ..self
        }
    }

    /// Some of the columns.
    pub(in super::super) fn part(self, columns: Range<usize>) -> Self {
        Self {
            data: self
                .data
                .get(columns.start * self.column_step..)
                .unwrap_or_default(),
            columns: columns.len(),
            ..self
        }
    }

    pub(in super::super) fn columns(&self) -> usize {
        self.columns
    }

    pub(in super::super) fn at(&self, row: usize, column: usize) -> T {
        self.data[row * self.row_step + column * self.column_step]
    }

    /// Whether the elements of a row follow each other.
    pub(super) fn has_rows(&self) -> bool {
        self.columns <= 1 || self.column_step == 1
    }

    /// The elements from one row to the next, if [`has_rows`](Self::has_rows).
    pub(super) fn row_step(&self) -> Option<usize> {
        self.has_rows().then_some(self.row_step)
    }

    /// Whether rows or columns follow each other.
    pub(super) fn has_lines(&self) -> bool {
        self.has_rows() || self.t().has_rows()
    }

    /// The rows of a part of the matrix, if [`has_rows`](Self::has_rows).
    pub(super) fn lines(&self, rows: Range<usize>, columns: Range<usize>) -> Lines<'a, T> {
        let start = rows.start * self.row_step + columns.start * self.column_step;
        Lines {
            data: self.data.get(start..).unwrap_or_default(),
            step: self.row_step,
            count: rows.len(),
            len: columns.len(),
        }
    }
}

/// Lines of elements that follow each other.
#[derive(Clone, Copy)]
pub(in super::super) struct Lines<'a, T> {
    data: &'a [T],
    pub(in super::super) step: usize,
    pub(in super::super) count: usize,
    pub(in super::super) len: usize,
}

impl<'a, T> Lines<'a, T> {
    /// Lines one after the other.
    pub(in super::super) fn new(data: &'a [T], len: usize) -> Self {
        Self {
            data,
            step: len,
            count: data.len() / len.max(1),
            len,
        }
    }

    /// The elements from the first line on.
    pub(in super::super) fn data(&self) -> &'a [T] {
        self.data
    }

    #[inline]
    pub(in super::super) fn line(&self, i: usize) -> &'a [T] {
        &self.data[i * self.step..][..self.len]
    }

    /// A line from one of its elements on, with what lies behind it.
    #[inline]
    pub(super) fn line_on(&self, i: usize, from: usize) -> &'a [T] {
        &self.data[i * self.step + from..]
    }

    /// Part of so many lines from one on. What is missing is read from the last line.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(super) fn part<const COUNT: usize>(
        self,
        first: usize,
        inner: Range<usize>,
    ) -> [&'a [T]; COUNT] {
        let mut lines: [&[T]; COUNT] = [&[]; COUNT];
        for (i, line) in lines.iter_mut().enumerate() {
            *line = &self.line((first + i).min(self.count - 1))[inner.clone()];
        }
        lines
    }

    /// The lines from the `first` on, at most `count`.
    pub(super) fn from(self, first: usize, count: usize) -> Self {
        Self {
            data: &self.data[first * self.step..],
            count: count.min(self.count - first),
            ..self
        }
    }
}

/// The output of a product: a matrix whose rows are contiguous.
pub(in super::super) struct MatrixMut<'a, T> {
    data: &'a mut [T],
    rows: usize,
    step: usize,
    columns: Range<usize>,
}

impl<'a, T> MatrixMut<'a, T> {
    /// A matrix of `rows` contiguous rows.
    pub(in super::super) fn new(data: &'a mut [T], rows: usize) -> Self {
        let step = data.len() / rows.max(1);
        Self {
            data,
            rows,
            step,
            columns: 0..step,
        }
    }

    /// Some of the columns.
    pub(in super::super) fn part(self, columns: Range<usize>) -> Self {
        let first = self.columns.start;
        Self {
            columns: first + columns.start..first + columns.end,
            ..self
        }
    }

    /// The rows; none if they are empty.
    pub(in super::super) fn into_rows(self) -> Vec<&'a mut [T]> {
        if self.columns.is_empty() {
            return Vec::new();
        }
        let rows = self.data.chunks_exact_mut(self.step.max(1)).take(self.rows);
        rows.map(|row| &mut row[self.columns.clone()]).collect()
    }
}
