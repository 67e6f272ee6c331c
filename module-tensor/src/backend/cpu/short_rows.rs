//! Loops over rows of a few elements to some dozens.
//!
//! Of a loop whose length is not known, the compiler makes vectors of several registers at a time, and leaves what is too short
//! for them to single elements. Here each row goes through one register, then through a quarter of one.

// Of loops of many steps inside of others, the compiler makes vector instructions only if they go by index.
#![allow(clippy::inline_always, clippy::needless_range_loop)]

use super::float::Float;
use super::fold_lines::{fold_lines, fold_lines_of};
use super::greatest::greater;
use super::lanes::LANES;
use super::{Element, SoftmaxOp};
use crate::zip::zip_mut;

/// The part of a register for the elements that fill none.
const PART: usize = LANES / 4;

/// `outᵢ = f(xᵢ)`
#[inline(always)]
pub(super) fn map_short<T: Element>(out: &mut [T], x: &[T], f: impl Fn(T) -> T) {
    let (chunks, out) = out.as_chunks_mut::<LANES>();
    let (x_chunks, x) = x.as_chunks::<LANES>();
    for (out, x) in zip_mut(chunks, x_chunks) {
        *out = each(x, &f);
    }
    let (parts, out) = out.as_chunks_mut::<PART>();
    let (x_parts, x) = x.as_chunks::<PART>();
    for (out, x) in zip_mut(parts, x_parts) {
        *out = each(x, &f);
    }
    for (out, &x) in zip_mut(out, x) {
        *out = f(x);
    }
}

/// `xᵢ = f(xᵢ)`
#[inline(always)]
pub(super) fn update_short<T: Element>(x: &mut [T], f: impl Fn(T) -> T) {
    let (chunks, x) = x.as_chunks_mut::<LANES>();
    for chunk in chunks {
        *chunk = each(chunk, &f);
    }
    let (parts, x) = x.as_chunks_mut::<PART>();
    for part in parts {
        *part = each(part, &f);
    }
    for v in x {
        *v = f(*v);
    }
}

/// All are computed before one is written: that it is not read again the compiler does not know.
#[inline(always)]
fn each<T: Element, const N: usize>(x: &[T; N], f: impl Fn(T) -> T) -> [T; N] {
    let mut all = *x;
    for i in 0..N {
        all[i] = f(x[i]);
    }
    all
}

/// The greatest number of each row, or one that is NaN, and the exponentials of the numbers minus it. Those of all rows are computed
/// together.
#[inline(always)]
pub(super) fn exps_of_short_rows<T: Float>(x: &[T], width: usize, mosts: &mut [T], exps: &mut [T]) {
    fold_lines(x, width, |v, most| greater(most, v), mosts);
    subtract_from_rows(x, mosts, width, exps);
    for i in 0..exps.len() {
        exps[i] = exps[i].exp_of_negative();
    }
}

/// Rows minus a number each.
#[inline(always)]
pub(super) fn subtract_from_rows<T: Float>(x: &[T], numbers: &[T], width: usize, out: &mut [T]) {
    let rows = out.chunks_exact_mut(width).zip(x.chunks_exact(width));
    for ((out, x), &number) in rows.zip(numbers) {
        map_short(out, x, |v| v.minus(number));
    }
}

/// How many rows that fill no lanes are processed together: their exponentials lie side by side.
pub(super) const SHORT_ROWS: usize = 32;

/// The softmax of at most [`SHORT_ROWS`] rows of fewer than 64 numbers.
#[inline(always)]
pub(super) fn normalize_short_rows<T: Float>(op: SoftmaxOp, out: &mut [T], x: &[T], width: usize) {
    let count = x.len() / width;
    let (mut mosts, mut totals) = ([T::zero(); SHORT_ROWS], [T::zero(); SHORT_ROWS]);
    let (mosts, totals) = (&mut mosts[..count], &mut totals[..count]);
    exps_of_short_rows(x, width, mosts, out);
    fold_lines_of(out, width, |v| v, T::zero(), T::plus, totals);
    match op {
        SoftmaxOp::Softmax => {
            for (row, total) in out.chunks_exact_mut(width).zip(totals) {
                let share = total.recip();
                update_short(row, |v| v.times(share));
            }
        }
        SoftmaxOp::LogSoftmax => {
            for total in totals.iter_mut() {
                *total = total.ln();
            }
            subtract_from_rows(x, mosts, width, out);
            for (row, &mut log) in out.chunks_exact_mut(width).zip(totals) {
                update_short(row, |v| v.minus(log));
            }
        }
    }
}
