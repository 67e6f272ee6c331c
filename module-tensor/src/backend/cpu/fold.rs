//! Folds of lines whose order does not matter: products, and the greatest and smallest elements.

use std::ops::Range;

use super::number::Number;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use crate::Result;
use crate::zip::{zip_mut, zip_mut2};

/// The number of elements of a line that are combined with others side by side.
const LANES: usize = 64;

/// The number of elements of a line that one thread combines.
const LONG: usize = 1 << 16;

/// The number of elements that are combined in a nanosecond, about.
const PER_NS: usize = 4;

/// Two elements as one; the second has been made of elements before the first.
pub(super) trait Combine<T>: Fn(T, T) -> T + Copy + Sync {}

impl<T, F: Fn(T, T) -> T + Copy + Sync> Combine<T> for F {}

/// The most extreme of at least one element, NaN if there is one.
pub(super) fn extreme_of_line<T: Number>(
    line: &[T],
    is_better: impl Fn(&T, &T) -> bool + Copy + Sync,
) -> Result<T> {
    let combine = move |v: T, best: T| if is_better(&v, &best) { v } else { best };
    fold_line(line, |line| {
        let (best, has_nan) = run_at_best_level(FoldLine::<_, _, true> { line, combine });
        match has_nan {
            true => line.iter().copied().find(|v| v.is_nan()).unwrap_or(best),
            false => best,
        }
    })
}

/// The product of at least one element.
pub(super) fn product_of_line<T: Number>(line: &[T]) -> Result<T> {
    let combine = T::times;
    fold_line(line, |line| {
        run_at_best_level(FoldLine::<_, _, false> { line, combine }).0
    })
}

/// A line of at least one element as one element.
fn fold_line<T: Number>(line: &[T], fold: impl Fn(&[T]) -> T + Sync) -> Result<T> {
    if line.len() < 2 * LONG {
        return Ok(fold(line));
    }
    let mut parts = vec![T::zero(); line.len().div_ceil(LONG)];
    let work = |range: Range<usize>, Items(parts, _): Items<'_, T>| {
        let stretches = line[range.start * LONG..].chunks(LONG);
        for (part, line) in parts.iter_mut().zip(stretches) {
            *part = fold(line);
        }
        Ok(())
    };
    parallel_for(parts.len(), LONG / PER_NS, Items(&mut parts, 1), &work)?;
    Ok(fold(&parts))
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
    run_at_best_level(FoldRows {
        values,
        width,
        columns,
        out,
        combine,
    });
}

/// Looks for NaN if `NAN`.
struct FoldLine<'a, T, F, const NAN: bool> {
    line: &'a [T],
    combine: F,
}

impl<T: Number, F: Combine<T>, const NAN: bool> Loop for FoldLine<'_, T, F, NAN> {
    /// Besides what the function makes of the line, whether a NaN was found.
    type Output = (T, bool);

    #[inline(always)]
    #[allow(clippy::inline_always, clippy::needless_range_loop)]
    fn run(self) -> (T, bool) {
        let Self { line, combine } = self;
        let (chunks, rest) = line.as_chunks::<LANES>();
        let is_nan = |v: &T| NAN && v.is_nan();
        let mut has_nan = rest.iter().fold(false, |any, v| any | is_nan(v));
        let Some((&first, others)) = chunks.split_first() else {
            return (fold_few(line, combine), has_nan);
        };
        has_nan |= first.iter().fold(false, |any, v| any | is_nan(v));
        let mut lanes = first;
        for chunk in others {
            // New lanes, which stay in registers: the old ones, written where there is a better element, would not.
            let mut next = [T::zero(); LANES];
            let mut any = false;
            for i in 0..LANES {
                next[i] = combine(chunk[i], lanes[i]);
                any |= is_nan(&chunk[i]);
            }
            lanes = next;
            has_nan |= any;
        }
        let eights = lanes.as_chunks::<8>().0;
        let mut eight = eights[0];
        for others in &eights[1..] {
            for (lane, &v) in zip_mut(&mut eight, others) {
                *lane = combine(v, *lane);
            }
        }
        let all = fold_few(&eight, combine);
        let all = rest.iter().fold(all, |all, &v| combine(v, all));
        (all, has_nan)
    }
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn fold_few<T: Number>(line: &[T], combine: impl Combine<T>) -> T {
    let first = line.first().copied().unwrap_or_else(T::zero);
    line.iter().skip(1).fold(first, |all, &v| combine(v, all))
}

struct FoldRows<'a, T, F> {
    values: &'a [T],
    width: usize,
    columns: Range<usize>,
    out: &'a mut [T],
    combine: F,
}

impl<T: Number, F: Combine<T>> Loop for FoldRows<'_, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self {
            values,
            width,
            columns,
            out,
            combine,
        } = self;
        let Some(last) = (values.len() / width).checked_sub(1) else {
            return;
        };
        let row = |i: usize| &values[i * width..][columns.clone()];
        // Two at a time, so that no store is masked (see `simd`); of an even number, two to begin with.
        let rest = match last % 2 {
            0 => {
                out.copy_from_slice(row(0));
                1
            }
            _ => {
                for (all, &a, &b) in zip_mut2(out, row(0), row(1)) {
                    *all = combine(b, a);
                }
                2
            }
        };
        for i in (rest..=last).step_by(2) {
            for (all, &a, &b) in zip_mut2(out, row(i), row(i + 1)) {
                *all = combine(b, combine(a, *all));
            }
        }
    }
}
