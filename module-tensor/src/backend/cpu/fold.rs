//! Folds whose order does not matter: products of lines, and rows that become one.

use std::ops::Range;

use super::fold_lines::{APART, Combine, FoldLinesOf, FoldLongLine};
use super::number::Number;
use super::row_loops::CombineRows;
use super::simd::run_at_best_level;
use super::threads::{Items, parallel_for};
use crate::Result;

/// The number of elements of a line that one thread combines.
pub(super) const LONG: usize = 1 << 16;

/// The number of elements that are combined in a nanosecond, about.
const PER_NS: usize = 4;

/// The product of each of several lines of `count` elements.
pub(super) fn products_of_lines<T: Number>(
    values: &[T],
    count: usize,
    out: &mut [T],
) -> Result<()> {
    if count < APART {
        run_at_best_level(FoldLinesOf {
            values,
            count,
            f: |v| v,
            neutral: T::one(),
            combine: T::times,
            out,
        });
        return Ok(());
    }
    for (out, line) in out.iter_mut().zip(values.chunks_exact(count)) {
        if count < 2 * LONG {
            let combine = T::times;
            (*out, _) = run_at_best_level(FoldLongLine::<_, _, false> { line, combine });
            continue;
        }
        let parts = parts_of_line(line, &|values, part| {
            products_of_lines(values, values.len(), part)
        })?;
        products_of_lines(&parts, parts.len(), std::slice::from_mut(out))?;
    }
    Ok(())
}

/// A part of a line as one element, which is to be written.
type OfPart<'f, T> = &'f (dyn Fn(&[T], &mut [T]) -> Result<()> + Sync);

/// What a function makes of each part of a line that is too long for one thread.
pub(super) fn parts_of_line<T: Number>(line: &[T], of_part: OfPart<'_, T>) -> Result<Vec<T>> {
    let mut parts = vec![T::zero(); line.len().div_ceil(LONG)];
    let work = |range: Range<usize>, Items(parts, _): Items<'_, T>| {
        let stretches = line[range.start * LONG..].chunks(LONG);
        for (part, line) in parts.chunks_exact_mut(1).zip(stretches) {
            of_part(line, part)?;
        }
        Ok(())
    };
    parallel_for(parts.len(), LONG / PER_NS, Items(&mut parts, 1), &work)?;
    Ok(parts)
}

/// Rows of at least one element, side by side: the rows of `out.len()` elements as one row.
pub(super) fn fold_rows<T: Number>(
    values: &[T],
    combine: impl Combine<T>,
    out: &mut [T],
) -> Result<()> {
    let width = out.len();
    // Whole rows are read fastest; a few rows at a time become a row each, and these rows become one.
    let height = (LONG / width).max(1);
    let rows = values.len() / width;
    if rows < 2 * height || height < LOW {
        return fold_columns(values, combine, out);
    }
    let mut parts = vec![T::zero(); rows.div_ceil(height) * width];
    let work = |range: Range<usize>, Items(out, _): Items<'_, T>| {
        let stretches = values[range.start * height * width..].chunks(height * width);
        for (out, values) in out.chunks_exact_mut(width).zip(stretches) {
            fold_part(values, width, 0..width, out, combine);
        }
        Ok(())
    };
    let ns = height * width / PER_NS;
    parallel_for(rows.div_ceil(height), ns, Items(&mut parts, width), &work)?;
    fold_columns(&parts, combine, out)
}

/// The least number of rows of which a part is made.
const LOW: usize = 8;

/// The same, where threads share the columns.
fn fold_columns<T: Number>(values: &[T], combine: impl Combine<T>, out: &mut [T]) -> Result<()> {
    let width = out.len();
    let work = |columns: Range<usize>, Items(out, _): Items<'_, T>| {
        fold_part(values, width, columns, out, combine);
        Ok(())
    };
    let rows = values.len() / width;
    parallel_for(width, rows.div_ceil(PER_NS), Items(out, 1), &work)
}

/// Some columns of rows of `width` elements as one row.
fn fold_part<T: Number>(
    values: &[T],
    width: usize,
    columns: Range<usize>,
    out: &mut [T],
    combine: impl Combine<T>,
) {
    let Some((first, values)) = values.split_at_checked(width) else {
        return;
    };
    run_at_best_level(CombineRows {
        values,
        width,
        columns,
        first: |column| first[column],
        combine: |all, v| combine(v, all),
        out,
    });
}
