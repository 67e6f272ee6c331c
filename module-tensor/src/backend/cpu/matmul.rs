//! Matrix products.

use super::gemm::{Matrix, MatrixMut};
use super::lanes::dot;
use super::map::{NumberKernel, run_number};
use super::memory::{filled, with_room};
use super::number::Number;
use super::threads::{Items, divide};
use super::view::to_cow;
use super::{CpuStorage, Operand, Storage, elements, room};
use crate::{Error, Result};

/// `[batch, m, k]` times `[batch, k, n]`.
pub(super) fn matmul(a: &Operand, b: &Operand) -> Result<Storage> {
    run_number(a.storage.dtype(), Product { row: None, a, b })
}

/// `[m, k]` times `[k, n]` plus a row.
pub(super) fn addmm(row: &Operand, a: &Operand, b: &Operand) -> Result<Storage> {
    let row = Some(row);
    run_number(a.storage.dtype(), Product { row, a, b })
}

struct Product<'a> {
    /// What each row of the result starts from; 0 if there is none.
    row: Option<&'a Operand>,
    a: &'a Operand,
    b: &'a Operand,
}

impl NumberKernel for Product<'_> {
    type Output = Storage;

    fn name(&self) -> &'static str {
        "matmul"
    }

    fn run<T: Number>(self) -> Result<Storage> {
        let (a, b) = Factor::joined(Factor::<T>::of(self.a)?, Factor::<T>::of(self.b)?);
        let (batch, m, n) = (a.batch, a.rows, b.columns);
        let len = batch * m * n;
        room::<T>(len)?;
        let mut out = match self.row {
            None => filled(len, T::zero())?,
            Some(row) => {
                let row = to_cow::<T>(row)?;
                let mut rows = with_room(len)?;
                (0..m).for_each(|_| rows.extend_from_slice(&row));
                rows
            }
        };
        if len == 0 || a.columns == 0 {
            return Ok(CpuStorage::wrap(out));
        }
        let keep = self.row.is_some();
        let products = (m * n).saturating_mul(a.columns);
        let one = |i: usize, out: &mut [T]| {
            if products <= SMALL {
                small(&a, &b, i, out);
            } else if n == 1 {
                rows_by_vector(&a, &b, i, out);
            } else if m == 1 {
                rows_by_vector(&b.transposed(), &a.transposed(), i, out);
            } else {
                T::multiply(a.matrix(i), b.matrix(i), keep, MatrixMut::new(out, m));
            }
        };
        divide(
            batch,
            products / 32,
            Items(&mut out, m * n),
            &|batch, out| {
                let products = batch.zip(out.0.chunks_exact_mut(m * n));
                products.for_each(|(i, out)| one(i, out));
                Ok(())
            },
        )?;
        Ok(CpuStorage::wrap(out))
    }
}

/// Below so many multiplications, preparing the blocks of a fast product costs more than it saves.
const SMALL: usize = 1 << 10;

/// The sums as they are defined, over an `out` that holds what they start from.
fn small<T: Number>(a: &Factor<'_, T>, b: &Factor<'_, T>, i: usize, out: &mut [T]) {
    let (a_data, b_data) = (a.data_of(i), b.data_of(i));
    for (r, out) in out.chunks_exact_mut(b.columns).enumerate() {
        for p in 0..a.columns {
            let factor = a_data[r * a.row_step + p * a.column_step];
            let row = &b_data[p * b.row_step..];
            for (c, sum) in out.iter_mut().enumerate() {
                *sum = sum.plus(factor.times(row[c * b.column_step]));
            }
        }
    }
}

/// A matrix by a vector: reading the matrix is the work, so it is read in the order of memory.
fn rows_by_vector<T: Number>(a: &Factor<'_, T>, b: &Factor<'_, T>, i: usize, out: &mut [T]) {
    let (data, vector) = (a.data_of(i), b.data_of(i));
    let vector: Vec<T> = (0..a.columns).map(|p| vector[p * b.row_step]).collect();
    if a.column_step == 1 {
        for (r, out) in out.iter_mut().enumerate() {
            let row = &data[r * a.row_step..][..a.columns];
            *out = out.plus(dot(row, &vector));
        }
    } else if a.row_step == 1 {
        for (p, &factor) in vector.iter().enumerate() {
            let column = &data[p * a.column_step..][..a.rows];
            for (out, &v) in out.iter_mut().zip(column) {
                *out = out.plus(factor.times(v));
            }
        }
    } else {
        for (r, out) in out.iter_mut().enumerate() {
            for (p, &factor) in vector.iter().enumerate() {
                *out = out.plus(factor.times(data[r * a.row_step + p * a.column_step]));
            }
        }
    }
}

/// A factor of a product: matrices one after the other.
struct Factor<'a, T> {
    data: &'a [T],
    batch: usize,
    batch_step: usize,
    rows: usize,
    row_step: usize,
    columns: usize,
    column_step: usize,
}

impl<'a, T: Number> Factor<'a, T> {
    /// The factor in memory of two or three dimensions.
    fn of(x: &'a Operand) -> Result<Self> {
        let (shape, strides) = (x.layout.shape(), x.layout.strides());
        let (batch, batch_step, rest) = match shape.rank() {
            2 => (1, 0, 0),
            3 => (shape[0], strides[0], 1),
            _ => return Err(shape.error("matmul", "two or three dimensions")),
        };
        let (rows, columns) = (shape[rest], shape[rest + 1]);
        let (row_step, column_step) = (strides[rest], strides[rest + 1]);
        let data = elements::<T>(x)?;
        let data = data.get(x.layout.offset()..).unwrap_or_default();
        let factor = Self {
            data,
            batch,
            batch_step,
            rows,
            row_step,
            columns,
            column_step,
        };
        // A layout that leaves its storage is reported, not read.
        if batch * rows * columns > 0 {
            let last =
                (batch - 1) * batch_step + (rows - 1) * row_step + (columns - 1) * column_step;
            if last >= data.len() {
                let layout = format!("{:?}", x.layout);
                return Err(Error::argument(
                    "matmul",
                    "layout",
                    layout,
                    "leaves its storage",
                ));
            }
        }
        Ok(factor)
    }

    /// One product for the whole batch, where `b` is one matrix for all and the rows of `a` follow each
    /// other: what is packed of `b` then serves all of them.
    fn joined(a: Self, b: Self) -> (Self, Self) {
        let follow = a.batch_step == a.rows * a.row_step;
        if a.batch <= 1 || b.batch_step != 0 || !follow {
            return (a, b);
        }
        let rows = a.batch * a.rows;
        (
            Self {
                batch: 1,
                rows,
                ..a
            },
            Self { batch: 1, ..b },
        )
    }

    fn transposed(&self) -> Self {
        Self {
            rows: self.columns,
            row_step: self.column_step,
            columns: self.rows,
            column_step: self.row_step,
            ..*self
        }
    }

    fn data_of(&self, i: usize) -> &'a [T] {
        self.data.get(i * self.batch_step..).unwrap_or_default()
    }

    fn matrix(&self, i: usize) -> Matrix<'a, T> {
        let steps = [self.row_step, self.column_step];
        Matrix::with_steps(self.data_of(i), [self.rows, self.columns], steps)
    }
}
