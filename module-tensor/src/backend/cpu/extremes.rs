//! The greatest and smallest elements of lines, and where they are.

use super::fold::{LONG, parts_of_line};
use super::fold_lines::{APART, Combine, FoldLongLine, fold_lanes, fold_lines};
use super::number::Number;
use super::simd::{Loop, run_at_best_level};
use crate::Result;
use crate::zip::zip_mut;

/// Whether an element is better than another.
pub(super) trait IsBetter<T>: Fn(&T, &T) -> bool + Copy + Sync {}

impl<T, F: Fn(&T, &T) -> bool + Copy + Sync> IsBetter<T> for F {}

/// The most extreme of each of several lines of `count` elements, at least one: NaN if there is one.
pub(super) fn extremes_of_lines<T: Number>(
    values: &[T],
    count: usize,
    is_better: impl IsBetter<T>,
    out: &mut [T],
) -> Result<()> {
    if count >= APART {
        return each_long_line(values, count, is_better, out, |_, best| best);
    }
    run_at_best_level(Extremes {
        values,
        count,
        is_better,
        out,
    });
    Ok(())
}

/// The index of the first element of each line that is at least as extreme as all others, or of the first NaN.
pub(super) fn positions_in_lines<T: Number>(
    values: &[T],
    count: usize,
    is_better: impl IsBetter<T>,
    out: &mut [i64],
) -> Result<()> {
    if count >= APART {
        return each_long_line(values, count, is_better, out, position);
    }
    run_at_best_level(Positions {
        values,
        count,
        is_better,
        out,
    });
    Ok(())
}

/// What `f` makes of each line of at least [`APART`] elements and its most extreme one.
fn each_long_line<T: Number, U>(
    values: &[T],
    count: usize,
    is_better: impl IsBetter<T>,
    out: &mut [U],
    f: impl Fn(&[T], T) -> U,
) -> Result<()> {
    for (out, line) in out.iter_mut().zip(values.chunks_exact(count)) {
        *out = f(line, extreme_of_long_line(line, is_better)?);
    }
    Ok(())
}

/// The most extreme of at least [`APART`] elements, NaN if there is one.
fn extreme_of_long_line<T: Number>(line: &[T], is_better: impl IsBetter<T>) -> Result<T> {
    if line.len() >= 2 * LONG {
        let parts = parts_of_line(line, &|values, part| {
            extremes_of_lines(values, values.len(), is_better, part)
        })?;
        let mut best = [T::zero()];
        extremes_of_lines(&parts, parts.len(), is_better, &mut best)?;
        return Ok(best[0]);
    }
    let combine = better(is_better);
    let (best, has_nan) = run_at_best_level(FoldLongLine::<_, _, true> { line, combine });
    Ok(match has_nan {
        true => first_nan(line).unwrap_or(best),
        false => best,
    })
}

/// The better of two elements.
fn better<T: Copy>(is_better: impl IsBetter<T>) -> impl Combine<T> {
    move |v: T, best: T| if is_better(&v, &best) { v } else { best }
}

fn first_nan<T: Number>(values: &[T]) -> Option<T> {
    values.iter().copied().find(|v| v.is_nan())
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn has_nan<T: Number>(values: &[T]) -> bool {
    let mut any = false;
    for v in values {
        any |= v.is_nan();
    }
    any
}

struct Extremes<'a, T, F> {
    values: &'a [T],
    count: usize,
    is_better: F,
    out: &'a mut [T],
}

impl<T: Number, F: IsBetter<T>> Loop for Extremes<'_, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self {
            values,
            count,
            is_better,
            out,
        } = self;
        let better = better(is_better);
        let lines = NEAR / count.max(1);
        for (values, out) in values
            .chunks(lines * count.max(1))
            .zip(out.chunks_mut(lines))
        {
            // Comparing without NaN takes an instruction.
            if !has_nan(values) {
                fold_lines(values, count, better, out);
                continue;
            }
            for (out, line) in out.iter_mut().zip(values.chunks_exact(count)) {
                let best = || line.iter().fold(line[0], |best, &v| better(v, best));
                *out = first_nan(line).unwrap_or_else(best);
            }
        }
    }
}

/// The number of elements that are looked through for NaN, and then, still near, compared.
const NEAR: usize = 2048;

/// The number of lines whose extremes are found before their positions.
const LINES: usize = 64;

struct Positions<'a, T, F> {
    values: &'a [T],
    count: usize,
    is_better: F,
    out: &'a mut [i64],
}

impl<T: Number, F: IsBetter<T>> Loop for Positions<'_, T, F> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self {
            values,
            count,
            is_better,
            out,
        } = self;
        let blocks = values.chunks(LINES * count.max(1));
        for (values, out) in blocks.zip(out.chunks_mut(LINES)) {
            let mut best = [T::zero(); LINES];
            let best = &mut best[..out.len()];
            Extremes {
                values,
                count,
                is_better,
                out: &mut *best,
            }
            .run();
            let lines = zip_mut(out, best).zip(values.chunks_exact(count));
            for ((at, &best), line) in lines {
                *at = match count {
                    4..16 => position_of_few::<T, 4>(line, best),
                    16..64 => position_of_few::<T, 16>(line, best),
                    _ => position(line, best),
                };
            }
        }
    }
}

/// Whether an element is the number, or both are NaN.
#[inline(always)]
#[allow(clippy::inline_always)]
fn is_same<T: Number>(v: T, number: T) -> bool {
    (v == number) | (number.is_nan() & v.is_nan())
}

/// The index of the first element that is a number of the line.
#[inline(always)]
#[allow(clippy::inline_always)]
fn position<T: Number>(line: &[T], number: T) -> i64 {
    const LANES: usize = 32;
    let is_it = |&v: &T| is_same(v, number);
    let holds = |chunk: &[T; LANES]| chunk.iter().fold(false, |any, v| any | is_it(v));
    let (chunks, rest) = line.as_chunks();
    let chunk = chunks.iter().position(holds);
    let (start, found) = match chunk {
        Some(chunk) => (chunk * LANES, chunks[chunk].iter().position(is_it)),
        None => (chunks.len() * LANES, rest.iter().position(is_it)),
    };
    found.map_or(0, |at| (start + at) as i64)
}

/// The same for at least `N` elements, but so few that looking at all is faster than stopping at the first.
#[inline(always)]
#[allow(clippy::inline_always)]
fn position_of_few<T: Number, const N: usize>(line: &[T], number: T) -> i64 {
    let mut firsts = [u32::MAX; N];
    let last = line.len() - N;
    // The last elements are looked at together, even if some of them have been before.
    for start in (0..last).step_by(N).chain([last]) {
        let chunk = &line[start..][..N];
        for i in 0..N {
            let at = match is_same(chunk[i], number) {
                true => (start + i) as u32,
                false => u32::MAX,
            };
            firsts[i] = firsts[i].min(at);
        }
    }
    i64::from(fold_lanes(firsts, u32::min))
}
