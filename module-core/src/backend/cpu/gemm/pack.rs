//! Factors laid out as tiles read them.

use std::ops::Range;

use ndarray::ArrayView2;

use super::super::float::Float;

/// Whether the rows of a matrix are contiguous.
pub(super) fn has_rows<T>(x: &ArrayView2<'_, T>) -> bool {
    x.ncols() <= 1 || x.strides()[1] == 1
}

/// A matrix whose rows or columns are contiguous.
pub(super) struct Factor<'a, T> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The rows, or else the columns.
    lines: Vec<&'a [T]>,
    has_rows: bool,
}

impl<'a, T: Float> Factor<'a, T> {
    pub(super) fn new(x: &ArrayView2<'a, T>) -> Self {
        let has_rows = has_rows(x);
        let lines = if has_rows { *x } else { x.reversed_axes() };
        let lines = (0..lines.nrows()).filter_map(|i| {
            let line = lines.index_axis_move(ndarray::Axis(0), i);
            line.to_slice()
        });
        Self {
            rows: x.nrows(),
            columns: x.ncols(),
            lines: lines.collect(),
            has_rows,
        }
    }
}

/// Contiguous rows of a factor, a block of its columns at a time.
#[derive(Default)]
pub(super) struct Rows<T> {
    copy: Vec<T>,
}

impl<T: Float> Rows<T> {
    /// Some rows in some columns: where they lie, or copied.
    pub(super) fn read<'a>(
        &'a mut self,
        x: &Factor<'a, T>,
        rows: Range<usize>,
        inner: Range<usize>,
    ) -> Vec<&'a [T]> {
        if x.has_rows {
            let rows = x.lines[rows].iter();
            return rows.map(|row| &row[inner.clone()]).collect();
        }
        self.copy.resize(rows.len() * inner.len(), T::zero());
        transpose(&x.lines[inner.clone()], rows, &mut self.copy, inner.len());
        self.copy.chunks_exact(inner.len()).collect()
    }
}

/// Columns of a factor, side by side in panels of so many, with zeros beside the last.
pub(super) struct Panels<T> {
    values: Vec<T>,
    width: usize,
}

impl<T: Float> Panels<T> {
    pub(super) fn new(width: usize) -> Self {
        let values = Vec::new();
        Self { values, width }
    }

    /// Some rows and columns of a factor, panel after panel.
    pub(super) fn pack(
        &mut self,
        x: &Factor<'_, T>,
        inner: Range<usize>,
        columns: Range<usize>,
    ) -> &[T] {
        let (width, depth) = (self.width, inner.len());
        let whole = columns.len() / width * width;
        let len = columns.len().div_ceil(width) * depth * width;
        self.values.resize(len, T::zero());
        // Beside the last columns there are zeros, and not what another block left.
        self.values[whole * depth..].fill(T::zero());
        if x.has_rows {
            let rows = x.lines[inner].iter().map(|row| &row[columns.clone()]);
            match width {
                4 => pack_rows::<T, 4>(rows, &mut self.values, depth),
                8 => pack_rows::<T, 8>(rows, &mut self.values, depth),
                16 => pack_rows::<T, 16>(rows, &mut self.values, depth),
                _ => pack_rows::<T, 32>(rows, &mut self.values, depth),
            }
        } else {
            let panels = self.values.chunks_exact_mut(depth * width);
            for (panel, lines) in panels.zip(x.lines[columns].chunks(width)) {
                transpose(lines, inner.clone(), panel, width);
            }
        }
        &self.values
    }
}

/// Cuts rows into panels of a width that the compiler knows.
fn pack_rows<'a, T: Float, const WIDTH: usize>(
    rows: impl Iterator<Item = &'a [T]>,
    panels: &mut [T],
    depth: usize,
) {
    let panels = panels.as_chunks_mut::<WIDTH>().0;
    for (p, row) in rows.enumerate() {
        let (whole, rest) = row.as_chunks::<WIDTH>();
        let mut to = panels[p..].iter_mut().step_by(depth);
        for (from, to) in whole.iter().zip(&mut to) {
            *to = *from;
        }
        if let Some(to) = to.next() {
            to[..rest.len()].copy_from_slice(rest);
        }
    }
}

/// How many lines are transposed together.
const LINES: usize = 8;

/// Writes a part of each line as a column, into rows of `stride` elements.
fn transpose<T: Float>(lines: &[&[T]], part: Range<usize>, out: &mut [T], stride: usize) {
    let (eights, rest) = lines.as_chunks::<LINES>();
    for (i, lines) in eights.iter().enumerate() {
        // One length for all, so that it is checked once.
        let lines = lines.map(|line| &line[part.clone()][..part.len()]);
        let rows = out.chunks_mut(stride).take(part.len());
        for (place, row) in rows.enumerate() {
            if let Some(row) = row.as_chunks_mut::<LINES>().0.get_mut(i) {
                *row = lines.map(|line| line[place]);
            }
        }
    }
    let done = eights.len() * LINES;
    for (from, line) in rest.iter().enumerate() {
        let line = &line[part.clone()];
        for (row, &v) in out.chunks_mut(stride).zip(line) {
            row[done + from] = v;
        }
    }
}
