//! A matrix by one vector or a few: reading the matrix is the work, so it is read in the order of memory, and once.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

use half::f16;

use super::aligned_vec::{LINE, Workspace};
use super::dots::dots;
use super::half_precision::{Half, widen};
use super::lanes::{WIDE_LANES, sum_of_eight};
use super::number::Number;
use super::simd::{Level, Loop, f16_dots, prefetch, run_at_best_level};
use super::threads::{Items, parallel_for};
use crate::Result;
use crate::zip::zip_mut;

/// The numbers of half precision that are converted at a time.
const CONVERTED: usize = 1 << 11;

/// The number of columns that are added at a time.
const COLUMNS: usize = 8;

/// Rows and columns of at most so many elements are asked for before they are read: longer ones the processor foresees.
const SHORT: usize = 256;

/// The rows that are read side by side if they are long.
const SIDE_BY_SIDE: usize = 4;

/// The least number of bytes of a long row.
const LONG: usize = 1 << 14;

/// The results of long rows, which are read side by side, and those of rows that are read one by one.
///
/// Rows that follow each other are one stream, which the processor foresees; several streams through the same page
/// confuse it. Long rows are pages apart, and a stream is not foreseen beyond the end of its page.
pub(super) fn by_length<T>(
    out: &mut [T],
    row_bytes: usize,
) -> (&mut [[T; SIDE_BY_SIDE]], &mut [T]) {
    match row_bytes < LONG {
        true => (&mut [], out),
        false => out.as_chunks_mut(),
    }
}

/// Adds the product of each row with the vector to an element of `out`; rows start `step` elements after each
/// other.
pub(super) fn add_rows_by_vector<T: Number>(
    rows: &[T],
    step: usize,
    vector: &[T],
    out: &mut [T],
) -> Result<()> {
    parallel_for(
        out.len(),
        vector.len() / 16,
        Items(out, 1),
        &|range, out| {
            run_at_best_level(RowsByVector {
                rows: rows.get(range.start * step..).unwrap_or_default(),
                step,
                vector,
                out: out.0,
            });
            Ok(())
        },
    )
}

/// Writes the products of each row with all vectors, which are as long as it; rows start `step` elements after each other.
///
/// Each is the sum of [`add_rows_by_vector`].
pub(super) fn rows_by_vectors<T: Number>(
    rows: &[T],
    step: usize,
    vectors: &[&[T]],
    out: &mut [T],
) -> Result<()> {
    let (Some(first), count) = (vectors.first(), vectors.len()) else {
        return Ok(());
    };
    let items = Items(&mut *out, count);
    parallel_for(
        items.0.len() / count,
        first.len() * count / 16,
        items,
        &|range, out| {
            run_at_best_level(RowsByVectors {
                rows: rows.get(range.start * step..).unwrap_or_default(),
                step,
                vectors,
                out: out.0,
            });
            Ok(())
        },
    )
}

/// Adds the product of each column with its element of the vector to `out`; columns start `step` elements after
/// each other.
pub(super) fn add_columns_by_vector<T: Number>(
    columns: &[T],
    step: usize,
    vector: &[T],
    out: &mut [T],
) -> Result<()> {
    parallel_for(
        out.len(),
        vector.len() / 16,
        Items(out, 1),
        &|range, out| {
            run_at_best_level(ColumnsByVector {
                columns: columns.get(range.start..).unwrap_or_default(),
                step,
                vector,
                out: out.0,
            });
            Ok(())
        },
    )
}

/// [`add_rows_by_vector`] for rows that are converted to `f32` as they are multiplied.
pub(super) fn add_f16_rows_by_vector(
    rows: &[f16],
    step: usize,
    vector: &[f32],
    out: &mut [f32],
) -> Result<()> {
    let level = Level::highest();
    parallel_for(
        out.len(),
        vector.len() / 16,
        Items(out, 1),
        &|range, out| {
            let rows = rows.get(range.start * step..).unwrap_or_default();
            if add_widened_rows(level, rows, step, vector, out.0).is_none() {
                add_copied_rows(rows, step, vector, out.0);
            }
            Ok(())
        },
    )
}

/// Rows that are widened in registers; nothing where there is no instruction for it.
fn add_widened_rows(
    level: Level,
    rows: &[f16],
    step: usize,
    vector: &[f32],
    out: &mut [f32],
) -> Option<()> {
    let row = |i: usize| &rows[i * step..][..vector.len()];
    let (groups, single) = by_length(out, size_of::<f16>() * vector.len());
    for (i, out) in groups.iter_mut().enumerate() {
        let rows = std::array::from_fn(|k| row(SIDE_BY_SIDE * i + k));
        add_widened(level, rows, vector, out)?;
    }
    let first = SIDE_BY_SIDE * groups.len();
    for (i, out) in single.iter_mut().enumerate() {
        add_widened(level, [row(first + i)], vector, std::array::from_mut(out))?;
    }
    Some(())
}

fn add_widened<const ROWS: usize>(
    level: Level,
    rows: [&[f16]; ROWS],
    vector: &[f32],
    out: &mut [f32; ROWS],
) -> Option<()> {
    let whole = vector.len() / WIDE_LANES * WIDE_LANES;
    let dots = f16_dots(level, rows, vector, sum_of_eight)?;
    for ((out, row), dot) in out.iter_mut().zip(rows).zip(dots) {
        let rest = row[whole..].iter().zip(&vector[whole..]);
        let rest = rest.fold(0.0, |sum, (&a, &v)| sum + a.single() * v);
        *out += rest + dot;
    }
    Some(())
}

/// A few rows at a time, which are widened before.
fn add_copied_rows(rows: &[f16], step: usize, vector: &[f32], out: &mut [f32]) {
    let len = vector.len();
    // They stay in the first-level cache.
    let together = (CONVERTED / len.max(1)).clamp(1, 8) * 2;
    let mut memory = Workspace::new();
    let wide = memory.of(together * len);
    for (part, out) in out.chunks_mut(together).enumerate() {
        let rows = rows.get(part * together * step..).unwrap_or_default();
        for (row, wide) in (0..out.len()).zip(wide.chunks_exact_mut(len.max(1))) {
            widen(&rows[row * step..][..len], wide);
        }
        run_at_best_level(RowsByVector {
            rows: &*wide,
            step: len,
            vector,
            out,
        });
    }
}

struct RowsByVector<'a, T> {
    rows: &'a [T],
    step: usize,
    vector: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> Loop for RowsByVector<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let row = |i: usize| &self.rows[i * self.step..][..self.vector.len()];
        let (groups, single) = by_length(self.out, size_of_val(self.vector));
        for (i, out) in groups.iter_mut().enumerate() {
            let rows = std::array::from_fn(|k| row(SIDE_BY_SIDE * i + k));
            add_dots(rows, self.vector, out);
        }
        let first = SIDE_BY_SIDE * groups.len();
        for (i, out) in single.iter_mut().enumerate() {
            let row = row(first + i);
            if row.len() <= SHORT {
                ask_for(row.as_ptr().wrapping_add(AHEAD / size_of::<T>()), row.len());
            }
            add_dots([row], self.vector, std::array::from_mut(out));
        }
    }
}

/// The number of bytes from what is multiplied to what is asked for: the processor foresees no more than the rest of a page.
const AHEAD: usize = 1 << 12;

/// Asks for some elements, which need not exist.
#[inline(always)]
fn ask_for<T>(first: *const T, count: usize) {
    for at in (0..count).step_by(LINE / size_of::<T>()) {
        prefetch(first.wrapping_add(at));
    }
}

struct RowsByVectors<'a, T> {
    rows: &'a [T],
    step: usize,
    vectors: &'a [&'a [T]],
    out: &'a mut [T],
}

impl<T: Number> Loop for RowsByVectors<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let len = self.vectors.first().map_or(0, |vector| vector.len());
        let lines = self.out.chunks_exact_mut(self.vectors.len().max(1));
        for (i, out) in lines.enumerate() {
            let row = &self.rows[i * self.step..][..len];
            for (out, vector) in zip_mut(out, self.vectors) {
                [*out] = dots([*vector], row);
            }
        }
    }
}

/// Adds the product of each row with the vector.
#[inline(always)]
fn add_dots<T: Number, const ROWS: usize>(rows: [&[T]; ROWS], vector: &[T], out: &mut [T; ROWS]) {
    for (out, dot) in zip_mut(out, &dots(rows, vector)) {
        *out = out.plus(*dot);
    }
}

struct ColumnsByVector<'a, T> {
    columns: &'a [T],
    step: usize,
    vector: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> Loop for ColumnsByVector<'_, T> {
    type Output = ();

    // By index: the compiler makes vector instructions only if it sees that all slices are of one length.
    #[inline(always)]
    #[allow(clippy::needless_range_loop)]
    fn run(self) {
        let rows = self.out.len();
        let column = |i: usize| &self.columns[i * self.step..][..rows];
        let (groups, last) = self.vector.as_chunks::<COLUMNS>();
        for (i, factors) in groups.iter().enumerate() {
            let mut columns = [&[][..]; COLUMNS];
            for (k, line) in columns.iter_mut().enumerate() {
                *line = column(COLUMNS * i + k);
                if rows <= SHORT {
                    ask_for(line.as_ptr().wrapping_add(2 * COLUMNS * self.step), rows);
                }
            }
            for j in 0..rows {
                let mut sum = self.out[j];
                for k in 0..COLUMNS {
                    sum = sum.plus(factors[k].times(columns[k][j]));
                }
                self.out[j] = sum;
            }
        }
        let first = COLUMNS * groups.len();
        for (i, &factor) in last.iter().enumerate() {
            for (out, &v) in zip_mut(self.out, column(first + i)) {
                *out = out.plus(factor.times(v));
            }
        }
    }
}

#[cfg(test)]
mod tests;
