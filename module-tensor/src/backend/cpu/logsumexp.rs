//! The logarithms of sums of exponentials.

// Of loops of many steps inside of others, the compiler makes vector instructions only if they go by index.
#![allow(clippy::needless_range_loop)]

#[cfg(test)]
mod tests;

use super::float::Float;
use super::fold_lines::fold_lines_of;
use super::greatest::max_of;
use super::lanes::{BLOCK, Sum, WIDE_LANES, exp, map, map2, number, update};
use super::map::{FloatKernel, run_float};
use super::memory::scratch;
use super::short_rows::exps_of_short_rows;
use super::simd::{Loop, run_at_best_level};
use super::softmax::{Lanes, TILE, most_of_columns};
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Operand, Storage, check_allocatable};
use crate::Result;
use crate::zip::{zip, zip_mut2};

pub(super) fn logsumexp(x: &Operand, dim: usize) -> Result<Storage> {
    run_float(x.storage.dtype(), LogSumExp(x, dim))
}

pub(super) fn logsumexp_backward(
    grad: &Operand,
    x: &Operand,
    y: &Operand,
    dim: usize,
) -> Result<Storage> {
    run_float(grad.storage.dtype(), LogSumExpGradient(grad, x, y, dim))
}

/// The logarithms of the sums of exponentials of every lane, in `f64`, which keeps what a great
/// offset would round away.
pub(super) fn log_sums<T: Float>(x: &[T], lanes: Lanes) -> Vec<f64> {
    let mut sums = vec![(T::zero(), T::zero()); x.len() / lanes.size.max(1)];
    let (block, items) = (lanes.block().max(1), Items(&mut sums, lanes.inner.max(1)));
    let done = parallel_for(x.len() / block, 2 * block, items, &|range, sums| {
        run_at_best_level(ExpSums {
            x: &x[range.start * block..range.end * block],
            lanes,
            sums: sums.0,
        });
        Ok(())
    });
    // The work above does not fail.
    debug_assert!(done.is_ok());
    let logs = sums.into_iter();
    logs.map(|(most, total)| most.to_f64() + total.to_f64().ln())
        .collect()
}

/// The greatest of each lane, or 0 where differences to it would be NaN, and the sum of the exponentials of the
/// differences.
struct ExpSums<'a, T> {
    x: &'a [T],
    lanes: Lanes,
    sums: &'a mut [(T, T)],
}

impl<T: Float> Loop for ExpSums<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self { x, lanes, sums } = self;
        let blocks = x.chunks_exact(lanes.block().max(1));
        if lanes.inner == 1 && (1..WIDE_LANES).contains(&lanes.size) {
            return sums_of_short_rows(x, lanes.size, sums);
        }
        let finite = |v: T| if v.to_f64().is_finite() { v } else { T::zero() };
        let (mut mosts, mut totals) = ([T::zero(); TILE], [T::zero(); TILE]);
        if lanes.inner == 1 {
            for (x, sum) in blocks.zip(sums) {
                let most = max_of(x);
                *sum = match most.to_f64().is_finite() {
                    true => (most, exponentials(x, most)),
                    false => (T::zero(), exponentials_of_infinite(x, most)),
                };
            }
            return;
        }
        for (x, sums) in blocks.zip(sums.chunks_exact_mut(lanes.inner)) {
            for tile in lanes.tiles() {
                let columns = tile.len();
                let (most, total) = (&mut mosts[..columns], &mut totals[..columns]);
                most_of_columns(x, lanes.rows(tile.clone()), most);
                most.iter_mut().for_each(|v| *v = finite(*v));
                total.fill(T::zero());
                for row in lanes.rows(tile.clone()) {
                    let x = &x[row][..columns];
                    for i in 0..columns {
                        total[i] = total[i].plus(x[i].minus(most[i]).exp());
                    }
                }
                for (sum, &most, &total) in zip_mut2(&mut sums[tile], most, total) {
                    *sum = (most, total);
                }
            }
        }
    }
}

/// The number of short rows that are processed together at most.
const MOST_ROWS: usize = 128;

/// The same for rows of so few numbers that they fill no lanes: their exponentials are computed many rows at a time.
#[inline(always)]
#[allow(clippy::inline_always)]
fn sums_of_short_rows<T: Float>(x: &[T], size: usize, sums: &mut [(T, T)]) {
    let mut exps = [T::zero(); BLOCK];
    let (mut mosts, mut totals) = ([T::zero(); MOST_ROWS], [T::zero(); MOST_ROWS]);
    let count = MOST_ROWS.min(BLOCK / size);
    for (x, sums) in x.chunks(count * size).zip(sums.chunks_mut(count)) {
        let exps = &mut exps[..x.len()];
        let (mosts, totals) = (&mut mosts[..sums.len()], &mut totals[..sums.len()]);
        exps_of_short_rows(x, size, mosts, exps);
        fold_lines_of(exps, size, |v| v, T::zero(), T::plus, totals);
        let rows = x.chunks_exact(size).zip(sums);
        for ((x, sum), (&most, &total)) in rows.zip(zip(mosts, totals)) {
            *sum = match most.to_f64().is_finite() {
                true => (most, total),
                false => (T::zero(), exponentials_of_infinite(x, most)),
            };
        }
    }
}

/// `Σ e^(x - shift)`, of numbers of which none is above `shift`.
#[inline(always)]
#[allow(clippy::inline_always)]
fn exponentials<T: Float>(x: &[T], shift: T) -> T {
    let mut buffer = [T::zero(); BLOCK];
    let mut total = T::zero();
    for x in x.chunks(BLOCK) {
        let buffer = &mut buffer[..x.len()];
        for i in 0..x.len() {
            buffer[i] = x[i].minus(shift).exp_of_negative();
        }
        total = total.plus(Sum(buffer).run());
    }
    total
}

/// `Σ eˣ` where the greatest number is infinite.
fn exponentials_of_infinite<T: Float>(x: &[T], most: T) -> T {
    match x.iter().find(|v| v.is_nan()) {
        Some(&nan) => nan,
        None => most.exp(),
    }
}

struct LogSumExp<'a>(&'a Operand, usize);

impl FloatKernel for LogSumExp<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "logsumexp"
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(x, dim) = self;
        let lanes = Lanes::new(x.layout.shape(), dim);
        let count = x.layout.shape().reduced(&[dim], true).numel();
        let x = to_row_major::<T>(x)?;
        check_allocatable::<f64>(count)?;
        let logs = if x.is_empty() {
            vec![f64::NEG_INFINITY; count]
        } else {
            log_sums(&x, lanes)
        };
        let rounded: Vec<T> = logs.into_iter().map(number).collect();
        Ok(CpuStorage::wrap(rounded))
    }
}

struct LogSumExpGradient<'a>(&'a Operand, &'a Operand, &'a Operand, usize);

impl FloatKernel for LogSumExpGradient<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "logsumexp"
    }

    /// `grad · e^(x - y)`
    fn run<T: Float>(self) -> Result<Storage> {
        let Self(grad, x, y, dim) = self;
        let lanes = Lanes::new(x.layout.shape(), dim);
        let (grad, x, y) = (
            to_row_major::<T>(grad)?,
            to_row_major::<T>(x)?,
            to_row_major::<T>(y)?,
        );
        check_allocatable::<T>(x.len())?;
        let mut out = scratch(x.len())?;
        let (inner, block) = (lanes.inner.max(1), lanes.block().max(1));
        let items = Items(&mut out, block);
        parallel_for(x.len() / block, 2 * block, items, &|range, mut out| {
            for (at, i) in range.enumerate() {
                let (out, x) = (out.at(at), &x[i * block..][..block]);
                let [grad, y] = [&grad, &y].map(|v| &v[i * inner..][..inner]);
                if let (&[grad], &[y]) = (grad, y) {
                    map(out, x, |x| x.minus(y));
                    exp(out);
                    out.iter_mut().for_each(|v| *v = v.times(grad));
                    continue;
                }
                for (out, x) in out.chunks_exact_mut(inner).zip(x.chunks_exact(inner)) {
                    map2(out, x, y, T::minus);
                    exp(out);
                    update(out, grad, T::times);
                }
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}
