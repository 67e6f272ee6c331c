//! Softmax and its logarithm.
//!
//! Along the last dimension the loops run over rows. Along another one they run over tiles of
//! neighboring columns, so that memory is read in order there too.

// Of loops of many steps inside of others, the compiler makes vector instructions only if they go by index.
#![allow(clippy::needless_range_loop)]

#[cfg(test)]
mod tests;

use super::dots::Dot;
use super::float::Float;
use super::greatest::max_of;
use super::lanes::{BLOCK, Sum, WIDE_LANES};
use super::map::{FloatKernel, run_float, single};
use super::short_rows::{SHORT_ROWS, normalize_short_rows};
use super::simd::{Loop, run_at_best_level};
use super::{Operand, SoftmaxOp, Storage};
use crate::{Result, Shape};

/// The number of columns that are processed together.
pub(super) const TILE: usize = 128;

pub(super) fn softmax(op: SoftmaxOp, x: &Operand, dim: usize) -> Result<Storage> {
    run_float(single(x.storage.dtype()), Softmax(op, x, dim))
}

pub(super) fn softmax_backward(
    op: SoftmaxOp,
    grad: &Operand,
    y: &Operand,
    dim: usize,
) -> Result<Storage> {
    run_float(
        single(grad.storage.dtype()),
        SoftmaxGradient(op, grad, y, dim),
    )
}

/// Lanes of `size` elements, `inner` apart from each other.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub(super) size: usize,
    pub(super) inner: usize,
}

impl Lanes {
    pub(super) fn new(shape: &Shape, dim: usize) -> Self {
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
    pub(super) fn tiles(self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let starts = (0..self.inner).step_by(TILE);
        starts.map(move |start| start..self.inner.min(start + TILE))
    }

    /// The columns of a tile in each row of a block.
    pub(super) fn rows(
        self,
        tile: std::ops::Range<usize>,
    ) -> impl Iterator<Item = std::ops::Range<usize>> {
        (0..self.size).map(move |row| row * self.inner + tile.start..row * self.inner + tile.end)
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
        T::each_block([x], lanes.block(), 1, &|[x], out| {
            run_at_best_level(Normalize { op, out, x, lanes });
        })
    }
}

/// The softmax of whole blocks.
struct Normalize<'a, T> {
    op: SoftmaxOp,
    out: &'a mut [T],
    x: &'a [T],
    lanes: Lanes,
}

impl<T: Float> Loop for Normalize<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let Self { op, out, x, lanes } = self;
        let block = lanes.block();
        if x.is_empty() {
            return;
        }
        if lanes.inner == 1 {
            if block < WIDE_LANES {
                let rows = block * SHORT_ROWS;
                for (out, x) in out.chunks_mut(rows).zip(x.chunks(rows)) {
                    normalize_short_rows(op, out, x, block);
                }
                return;
            }
            let rows = block * rows_of(block);
            for (out, x) in out.chunks_mut(rows).zip(x.chunks(rows)) {
                normalize_rows(op, out, x, block);
            }
            return;
        }
        for (out, x) in out.chunks_exact_mut(block).zip(x.chunks_exact(block)) {
            normalize_columns(op, out, x, lanes);
        }
    }
}

/// The number of rows that go through the steps together: the folds of one do not wait for those of another.
pub(super) const ROWS: usize = 8;

/// The number of elements of these that stay in the nearest cache.
const NEAR: usize = 2048;

/// How many rows of a width are processed together.
pub(super) fn rows_of(width: usize) -> usize {
    (NEAR / width.max(1)).clamp(1, ROWS)
}

/// The greatest is subtracted first, so that no exponential overflows. NaN is left out of the
/// greatest and makes the sum, and so the whole lane, NaN.
#[inline(always)]
#[allow(clippy::inline_always)]
fn normalize_rows<T: Float>(op: SoftmaxOp, out: &mut [T], x: &[T], width: usize) {
    let (mut mosts, mut totals) = ([T::zero(); ROWS], [T::zero(); ROWS]);
    for (most, x) in mosts.iter_mut().zip(x.chunks_exact(width)) {
        *most = max_of(x);
    }
    // Those of the logarithm are written over.
    let rows = out.chunks_exact_mut(width).zip(x.chunks_exact(width));
    for ((out, x), &most) in rows.zip(&mosts) {
        let x = &x[..out.len()];
        for i in 0..out.len() {
            out[i] = x[i].minus(most).exp_of_negative();
        }
    }
    for (total, out) in totals.iter_mut().zip(out.chunks_exact(width)) {
        let blocks = out.chunks(BLOCK);
        *total = blocks.fold(T::zero(), |sum, x| sum.plus(Sum(x).run()));
    }
    let rows = out.chunks_exact_mut(width).zip(x.chunks_exact(width));
    for ((out, x), (&most, &total)) in rows.zip(mosts.iter().zip(&totals)) {
        match op {
            SoftmaxOp::Softmax => {
                let share = total.recip();
                for v in out {
                    *v = v.times(share);
                }
            }
            SoftmaxOp::LogSoftmax => {
                let (log, x) = (total.ln(), &x[..out.len()]);
                for i in 0..out.len() {
                    out[i] = x[i].minus(most).minus(log);
                }
            }
        }
    }
}

/// The greatest numbers of columns of at least one row, without NaN.
#[inline(always)]
#[allow(clippy::inline_always)]
pub(super) fn most_of_columns<T: Float>(
    x: &[T],
    mut rows: impl Iterator<Item = std::ops::Range<usize>>,
    most: &mut [T],
) {
    let columns = most.len();
    let greater = |v: T, most: T| if v > most { v } else { most };
    most.fill(T::NEG_INFINITY);
    // Two at a time, so that no store is masked (see `simd`).
    while let Some(row) = rows.next() {
        let next = rows.next().unwrap_or_else(|| row.clone());
        let (a, b) = (&x[row][..columns], &x[next][..columns]);
        for i in 0..columns {
            most[i] = greater(b[i], greater(a[i], most[i]));
        }
    }
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn normalize_columns<T: Float>(op: SoftmaxOp, out: &mut [T], x: &[T], lanes: Lanes) {
    let (mut most, mut total) = ([T::zero(); TILE], [T::zero(); TILE]);
    for tile in lanes.tiles() {
        let columns = tile.len();
        let (most, total) = (&mut most[..columns], &mut total[..columns]);
        most_of_columns(x, lanes.rows(tile.clone()), most);
        total.fill(T::zero());
        for row in lanes.rows(tile.clone()) {
            match op {
                SoftmaxOp::Softmax => {
                    let (out, x) = (&mut out[row.clone()][..columns], &x[row][..columns]);
                    for i in 0..columns {
                        out[i] = x[i].minus(most[i]).exp_of_negative();
                    }
                    for i in 0..columns {
                        total[i] = total[i].plus(out[i]);
                    }
                }
                SoftmaxOp::LogSoftmax => {
                    let x = &x[row][..columns];
                    for i in 0..columns {
                        total[i] = total[i].plus(x[i].minus(most[i]).exp_of_negative());
                    }
                }
            }
        }
        match op {
            SoftmaxOp::Softmax => {
                for total in total.iter_mut() {
                    *total = total.recip();
                }
                for row in lanes.rows(tile) {
                    let out = &mut out[row][..columns];
                    for i in 0..columns {
                        out[i] = out[i].times(total[i]);
                    }
                }
            }
            SoftmaxOp::LogSoftmax => {
                for total in total.iter_mut() {
                    *total = total.ln();
                }
                for row in lanes.rows(tile) {
                    let (out, x) = (&mut out[row.clone()][..columns], &x[row][..columns]);
                    for i in 0..columns {
                        out[i] = x[i].minus(most[i]).minus(total[i]);
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
        T::each_block([grad, y], lanes.block(), 1, &|[grad, y], out| {
            run_at_best_level(Gradient {
                op,
                out,
                grad,
                y,
                lanes,
            });
        })
    }
}

/// The gradient of whole blocks.
struct Gradient<'a, T> {
    op: SoftmaxOp,
    out: &'a mut [T],
    grad: &'a [T],
    y: &'a [T],
    lanes: Lanes,
}

impl<T: Float> Loop for Gradient<'_, T> {
    type Output = ();

    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn run(self) {
        let block = self.lanes.block();
        if self.grad.is_empty() {
            return;
        }
        if self.lanes.inner == 1 {
            let rows = block * rows_of(block);
            let sources = self.grad.chunks(rows).zip(self.y.chunks(rows));
            for (out, (grad, y)) in self.out.chunks_mut(rows).zip(sources) {
                row_gradients(self.op, out, grad, y, block);
            }
            return;
        }
        let outs = self.out.chunks_exact_mut(block);
        let sources = self.grad.chunks_exact(block);
        let sources = sources.zip(self.y.chunks_exact(block));
        for (out, (grad, y)) in outs.zip(sources) {
            column_gradient(self.op, out, grad, y, self.lanes);
        }
    }
}

/// `(g - Σ g y) y`, or `g - e^y Σ g` of the logarithm.
#[inline(always)]
#[allow(clippy::inline_always)]
fn row_gradients<T: Float>(op: SoftmaxOp, out: &mut [T], grad: &[T], y: &[T], width: usize) {
    let mut totals = [T::zero(); ROWS];
    let rows = grad.chunks_exact(width).zip(y.chunks_exact(width));
    for (total, (grad, y)) in totals.iter_mut().zip(rows) {
        let blocks = grad.chunks(BLOCK).zip(y.chunks(BLOCK));
        *total = match op {
            SoftmaxOp::Softmax => {
                blocks.fold(T::zero(), |sum, (grad, y)| sum.plus(Dot(grad, y).run()))
            }
            SoftmaxOp::LogSoftmax => {
                blocks.fold(T::zero(), |sum, (grad, _)| sum.plus(Sum(grad).run()))
            }
        };
    }
    let rows = grad.chunks_exact(width).zip(y.chunks_exact(width));
    let rows = out.chunks_exact_mut(width).zip(rows);
    for ((out, (grad, y)), &total) in rows.zip(&totals) {
        let (grad, y) = (&grad[..out.len()], &y[..out.len()]);
        match op {
            SoftmaxOp::Softmax => {
                for i in 0..out.len() {
                    out[i] = grad[i].minus(total).times(y[i]);
                }
            }
            SoftmaxOp::LogSoftmax => {
                for i in 0..out.len() {
                    out[i] = grad[i].minus(y[i].exp_of_negative().times(total));
                }
            }
        }
    }
}

#[inline(always)]
#[allow(clippy::inline_always)]
fn column_gradient<T: Float>(op: SoftmaxOp, out: &mut [T], grad: &[T], y: &[T], lanes: Lanes) {
    let mut total = [T::zero(); TILE];
    for tile in lanes.tiles() {
        let columns = tile.len();
        let total = &mut total[..columns];
        total.fill(T::zero());
        for row in lanes.rows(tile.clone()) {
            match op {
                SoftmaxOp::Softmax => {
                    let (grad, y) = (&grad[row.clone()][..columns], &y[row][..columns]);
                    for i in 0..columns {
                        total[i] = total[i].plus(grad[i].times(y[i]));
                    }
                }
                SoftmaxOp::LogSoftmax => {
                    let grad = &grad[row][..columns];
                    for i in 0..columns {
                        total[i] = total[i].plus(grad[i]);
                    }
                }
            }
        }
        for row in lanes.rows(tile) {
            let (grad, y) = (&grad[row.clone()][..columns], &y[row.clone()][..columns]);
            let out = &mut out[row][..columns];
            match op {
                SoftmaxOp::Softmax => {
                    for i in 0..columns {
                        out[i] = grad[i].minus(total[i]).times(y[i]);
                    }
                }
                SoftmaxOp::LogSoftmax => {
                    for i in 0..columns {
                        out[i] = grad[i].minus(y[i].exp_of_negative().times(total[i]));
                    }
                }
            }
        }
    }
}
