//! Softmax, its logarithm, and the logarithms of sums of exponentials.
//!
//! Along the last dimension the loops run over rows. Along another one they run over tiles of
//! neighboring columns, so that memory is read in order there too.

use super::float::Float;
use super::lanes::{exp, map, map2, max, number, raise, sum, sum_of2, update, update2};
use super::map::{FloatKernel, run_float};
use super::memory::{filled, scratch, vec_with_capacity};
use super::threads::{Items, parallel_for};
use super::view::to_cow;
use super::{CpuStorage, Operand, SoftmaxOp, Storage, check_allocatable};
use crate::zip::{zip, zip_mut3};
use crate::{Result, Shape};

/// The number of columns that are processed together.
const TILE: usize = 128;

pub(super) fn softmax(op: SoftmaxOp, x: &Operand, dim: usize) -> Result<Storage> {
    run_float(x.storage.dtype(), Softmax(op, x, dim))
}

pub(super) fn softmax_backward(
    op: SoftmaxOp,
    grad: &Operand,
    y: &Operand,
    dim: usize,
) -> Result<Storage> {
    run_float(grad.storage.dtype(), SoftmaxGradient(op, grad, y, dim))
}

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

/// Lanes of `size` elements, `inner` apart from each other.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) size: usize,
    pub(super) inner: usize,
}

impl Lanes {
    fn new(shape: &Shape, dim: usize) -> Self {
        Self {
            size: shape[dim],
            inner: shape[dim + 1..].iter().product(),
        }
    }

    /// The elements of all lanes that lie between each other.
    pub(super) fn block(self) -> usize {
        self.size * self.inner
    }

    /// The columns of a block in tiles, by where they start and end.
    fn tiles(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let starts = (0..self.inner).step_by(TILE);
        starts.map(move |start| start..self.inner.min(start + TILE))
    }

    /// The columns of a tile in each row of a block.
    fn rows(self, tile: std::ops::Range<usize>) -> impl Iterator<Item = std::ops::Range<usize>> {
        (0..self.size).map(move |row| row * self.inner + tile.start..row * self.inner + tile.end)
    }

    /// The greatest of each lane of a tile.
    fn greatest<T: Float>(self, x: &[T], tile: std::ops::Range<usize>, most: &mut [T]) {
        most.fill(T::NEG_INFINITY);
        self.rows(tile).for_each(|row| raise(most, &x[row]));
    }

    /// `Σ e^(x - shift)` of each lane of a tile.
    fn exponentials<T: Float>(
        self,
        x: &[T],
        tile: std::ops::Range<usize>,
        shift: &[T],
        total: &mut [T],
    ) {
        let mut buffer = [T::zero(); TILE];
        let buffer = &mut buffer[..tile.len()];
        total.fill(T::zero());
        for row in self.rows(tile) {
            map2(buffer, &x[row], shift, T::minus);
            exp(buffer);
            update(total, buffer, T::plus);
        }
    }
}

struct Softmax<'a>(SoftmaxOp, &'a Operand, usize);

impl FloatKernel for Softmax<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(op, x, dim) = self;
        let lanes = Lanes::new(x.layout.shape(), dim);
        let x = to_cow::<T>(x)?;
        check_allocatable::<T>(x.len())?;
        let mut out = scratch(x.len())?;
        let block = lanes.block();
        let count = x.len().checked_div(block).unwrap_or(0);
        parallel_for(count, block, Items(&mut out, block), &|blocks, mut out| {
            let mut buffer = Vec::new();
            for (i, index) in blocks.enumerate() {
                let (out, x) = (out.at(i), &x[index * block..][..block]);
                if lanes.inner == 1 {
                    normalize_row(op, out, x, &mut buffer);
                } else {
                    normalize_columns(op, out, x, lanes);
                }
            }
            Ok(())
        })?;
        Ok(CpuStorage::wrap(out))
    }
}

/// The greatest is subtracted first, so that no exponential overflows. NaN is left out of the
/// greatest and makes the sum, and so the whole lane, NaN.
fn normalize_row<T: Float>(op: SoftmaxOp, out: &mut [T], x: &[T], buffer: &mut Vec<T>) {
    let most = max(x);
    match op {
        SoftmaxOp::Softmax => {
            map(out, x, |v| v.minus(most));
            exp(out);
            let share = sum(out).recip();
            out.iter_mut().for_each(|v| *v = v.times(share));
        }
        SoftmaxOp::LogSoftmax => {
            let log = exponentials(x, most, buffer).ln();
            map(out, x, |v| v.minus(most).minus(log));
        }
    }
}

/// `Σ e^(x - shift)`, a block at a time in `buffer`.
fn exponentials<T: Float>(x: &[T], shift: T, buffer: &mut Vec<T>) -> T {
    buffer.resize(super::lanes::BLOCK.min(x.len()), T::zero());
    let mut total = T::zero();
    for x in x.chunks(buffer.len().max(1)) {
        let buffer = &mut buffer[..x.len()];
        map(buffer, x, |v| v.minus(shift));
        exp(buffer);
        total = total.plus(sum(buffer));
    }
    total
}

fn normalize_columns<T: Float>(op: SoftmaxOp, out: &mut [T], x: &[T], lanes: Lanes) {
    let (mut most, mut total) = ([T::zero(); TILE], [T::zero(); TILE]);
    for tile in lanes.tiles() {
        let (most, total) = (&mut most[..tile.len()], &mut total[..tile.len()]);
        lanes.greatest(x, tile.clone(), most);
        match op {
            SoftmaxOp::Softmax => {
                total.fill(T::zero());
                for row in lanes.rows(tile.clone()) {
                    let out = &mut out[row.clone()];
                    map2(out, &x[row], most, T::minus);
                    exp(out);
                    update(total, out, T::plus);
                }
                total.iter_mut().for_each(|v| *v = v.recip());
                let rows = lanes.rows(tile);
                rows.for_each(|row| update(&mut out[row], total, T::times));
            }
            SoftmaxOp::LogSoftmax => {
                lanes.exponentials(x, tile.clone(), most, total);
                total.iter_mut().for_each(|v| *v = v.ln());
                for row in lanes.rows(tile) {
                    let out = &mut out[row.clone()];
                    for (out, x, &most, &log) in zip_mut3(out, &x[row], most, total) {
                        *out = x.minus(most).minus(log);
                    }
                }
            }
        }
    }
}

struct SoftmaxGradient<'a>(SoftmaxOp, &'a Operand, &'a Operand, usize);

impl FloatKernel for SoftmaxGradient<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn run<T: Float>(self) -> Result<Storage> {
        let Self(op, grad, y, dim) = self;
        let lanes = Lanes::new(grad.layout.shape(), dim);
        let (grad, y) = (to_cow::<T>(grad)?, to_cow::<T>(y)?);
        check_allocatable::<T>(grad.len())?;
        let block = lanes.block().max(1);
        let sources = grad.chunks_exact(block).zip(y.chunks_exact(block));
        if lanes.inner == 1 {
            let mut out = vec_with_capacity(grad.len())?;
            sources.for_each(|(grad, y)| row_gradient(op, &mut out, grad, y));
            return Ok(CpuStorage::wrap(out));
        }
        let mut out = filled(grad.len(), T::zero())?;
        for (out, (grad, y)) in out.chunks_exact_mut(block).zip(sources) {
            column_gradient(op, out, grad, y, lanes);
        }
        Ok(CpuStorage::wrap(out))
    }
}

/// `(g - Σ g y) y`, or `g - e^y Σ g` of the logarithm.
fn row_gradient<T: Float>(op: SoftmaxOp, out: &mut Vec<T>, grad: &[T], y: &[T]) {
    match op {
        SoftmaxOp::Softmax => {
            let total = sum_of2(grad, y, T::times);
            out.extend(zip(grad, y).map(|(grad, &y)| grad.minus(total).times(y)));
        }
        SoftmaxOp::LogSoftmax => {
            let total = sum(grad);
            let start = out.len();
            out.extend_from_slice(y);
            let out = &mut out[start..];
            exp(out);
            update(out, grad, |e, grad| grad.minus(e.times(total)));
        }
    }
}

fn column_gradient<T: Float>(op: SoftmaxOp, out: &mut [T], grad: &[T], y: &[T], lanes: Lanes) {
    let mut total = [T::zero(); TILE];
    for tile in lanes.tiles() {
        let total = &mut total[..tile.len()];
        total.fill(T::zero());
        for row in lanes.rows(tile.clone()) {
            match op {
                SoftmaxOp::Softmax => {
                    update2(total, &grad[row.clone()], &y[row], |sum, grad, y| {
                        sum.plus(grad.times(y))
                    });
                }
                SoftmaxOp::LogSoftmax => update(total, &grad[row], T::plus),
            }
        }
        for row in lanes.rows(tile) {
            let (out, grad, y) = (&mut out[row.clone()], &grad[row.clone()], &y[row]);
            match op {
                SoftmaxOp::Softmax => {
                    map2(out, grad, total, T::minus);
                    update(out, y, T::times);
                }
                SoftmaxOp::LogSoftmax => {
                    out.copy_from_slice(y);
                    exp(out);
                    update2(out, grad, total, |e, grad, total| {
                        grad.minus(e.times(total))
                    });
                }
            }
        }
    }
}

/// The logarithms of the sums of exponentials of every lane, in `f64`, which keeps what a great
/// offset would round away.
pub(super) fn log_sums<T: Float>(x: &[T], lanes: Lanes) -> Vec<f64> {
    let mut out = Vec::with_capacity(x.len() / lanes.size.max(1));
    let mut buffer = Vec::new();
    let (mut most, mut total) = ([T::zero(); TILE], [T::zero(); TILE]);
    // Differences to an infinity would be NaN.
    let finite = |v: T| if v.to_f64().is_finite() { v } else { T::zero() };
    let log = |most: T, total: T| most.to_f64() + total.to_f64().ln();
    for x in x.chunks_exact(lanes.block().max(1)) {
        if lanes.inner == 1 {
            let most = finite(max(x));
            out.push(log(most, exponentials(x, most, &mut buffer)));
            continue;
        }
        for tile in lanes.tiles() {
            let (most, total) = (&mut most[..tile.len()], &mut total[..tile.len()]);
            lanes.greatest(x, tile.clone(), most);
            most.iter_mut().for_each(|v| *v = finite(*v));
            lanes.exponentials(x, tile, most, total);
            out.extend(
                most.iter()
                    .zip(total)
                    .map(|(&most, &mut total)| log(most, total)),
            );
        }
    }
    out
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
        let x = to_cow::<T>(x)?;
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
        let (grad, x, y) = (to_cow::<T>(grad)?, to_cow::<T>(x)?, to_cow::<T>(y)?);
        check_allocatable::<T>(x.len())?;
        let mut out = vec_with_capacity(x.len())?;
        let inner = lanes.inner.max(1);
        let lines = grad.chunks_exact(inner).zip(y.chunks_exact(inner));
        for (x, (grad, y)) in x.chunks_exact(lanes.block().max(1)).zip(lines) {
            let start = out.len();
            if let (&[grad], &[y]) = (grad, y) {
                out.extend(x.iter().map(|v| v.minus(y)));
                exp(&mut out[start..]);
                out[start..].iter_mut().for_each(|v| *v = v.times(grad));
                continue;
            }
            for x in x.chunks_exact(inner) {
                let start = out.len();
                out.extend(zip(x, y).map(|(x, &y)| x.minus(y)));
                exp(&mut out[start..]);
                update(&mut out[start..], grad, T::times);
            }
        }
        Ok(CpuStorage::wrap(out))
    }
}
