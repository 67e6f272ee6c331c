//! Factors of products as they lie in memory.

use std::sync::Arc;

use super::super::gemm::Matrix;
use super::super::number::Number;
use super::super::{Operand, elements};
use crate::layout::{Layout, Shape, offsets};
use crate::{Error, Result};

/// A factor of a product: one matrix or several of one shape.
pub(super) struct Factor<'a, T> {
    data: &'a [T],
    pub(super) batch: usize,
    starts: Starts,
    pub(super) rows: usize,
    pub(super) row_step: usize,
    pub(super) columns: usize,
    pub(super) column_step: usize,
}

/// The offsets of the matrices of a batch.
#[derive(Clone)]
enum Starts {
    /// At even distances, which are 0 if one matrix serves all.
    Step(usize),
    /// Each where it says.
    At(Arc<[usize]>),
}

impl Starts {
    fn of(batch: &Layout) -> Self {
        match batch.reshape(&batch.shape().numel().into()) {
            Some(even) => Self::Step(even.strides().first().copied().unwrap_or(0)),
            None => Self::At(offsets(0, batch.shape(), batch.strides()).into()),
        }
    }

    fn get(&self, i: usize) -> usize {
        match self {
            Self::Step(step) => i * step,
            Self::At(starts) => starts.get(i).copied().unwrap_or(0),
        }
    }
}

impl<'a, T: Number> Factor<'a, T> {
    /// The factor in memory: the last two dimensions of each element of those before.
    pub(super) fn of(x: &'a Operand) -> Result<Self> {
        let (shape, strides) = (x.layout.shape(), x.layout.strides());
        let Some(rest) = shape.rank().checked_sub(2) else {
            return Err(shape.error("matmul", "at least two dimensions"));
        };
        let (rows, columns) = (shape[rest], shape[rest + 1]);
        let (row_step, column_step) = (strides[rest], strides[rest + 1]);
        let data = elements::<T>(x)?;
        // A layout that leaves its storage is reported, not read.
        let outside = || {
            let (layout, problem) = (format!("{:?}", x.layout), "leaves its storage");
            Error::argument("matmul", "layout", layout, problem)
        };
        let last = shape.iter().zip(strides);
        let last = last.map(|(&size, stride)| size.saturating_sub(1) * stride);
        let last = x.layout.offset() + last.sum::<usize>();
        if shape.numel() > 0 && last >= data.len() {
            return Err(outside());
        }
        let numel = shape[..rest].iter().product();
        let starts = if numel <= 1 || shape.numel() == 0 {
            Starts::Step(0)
        } else {
            let batch = Shape::from(&shape[..rest]);
            let batch = Layout::within(batch, &strides[..rest], 0, data.len());
            Starts::of(&batch.ok_or_else(outside)?)
        };
        Ok(Self {
            data: data.get(x.layout.offset()..).unwrap_or_default(),
            batch: numel,
            starts,
            rows,
            row_step,
            columns,
            column_step,
        })
    }

    /// Joins the batch to one product if `b` is one matrix for all and the rows of this one are contiguous, so that `b` is
    /// packed once.
    pub(super) fn join_batch(&mut self, b: &mut Self) {
        let own_step = self.rows * self.row_step;
        let follow = matches!(self.starts, Starts::Step(step) if step == own_step);
        if self.batch > 1 && b.is_shared() && follow {
            self.rows *= self.batch;
            (self.batch, b.batch) = (1, 1);
        }
    }

    pub(super) fn transposed(&self) -> Self {
        Self {
            rows: self.columns,
            row_step: self.column_step,
            columns: self.rows,
            column_step: self.row_step,
            starts: self.starts.clone(),
            ..*self
        }
    }

    /// Whether one matrix serves the whole batch.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self.starts, Starts::Step(0))
    }

    pub(super) fn data_of(&self, i: usize) -> &'a [T] {
        self.data.get(self.starts.get(i)..).unwrap_or_default()
    }

    pub(super) fn matrix(&self, i: usize) -> Matrix<'a, T> {
        let steps = [self.row_step, self.column_step];
        Matrix::with_steps(self.data_of(i), [self.rows, self.columns], steps)
    }
}
