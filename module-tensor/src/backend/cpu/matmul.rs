//! Matrix products.

// A loop is made of vector instructions only if what it calls is inlined into it.
#![allow(clippy::inline_always)]

mod factor;
mod small;

use std::borrow::Cow;

use super::aligned_vec::AlignedVec;
use super::gemm::MatrixMut;
use super::map::{NumberKernel, run_number};
use super::matrix_vector::{add_columns_by_vector, add_rows_by_vector, rows_by_vectors};
use super::memory::{filled, scratch};
use super::number::Number;
use super::simd::{Loop, run_at_best_level};
use super::threads::{Items, parallel_for};
use super::view::to_row_major;
use super::{CpuStorage, Operand, Storage, check_allocatable};
use crate::Result;
use crate::zip::zip_mut;
use factor::Factor;
use small::SmallProducts;

/// `[…, m, k]` times `[…, k, n]`.
pub(super) fn matmul(a: &Operand, b: &Operand) -> Result<Storage> {
    run_number(a.storage.dtype(), Product { row: None, a, b })
}

/// `[m, k]` times `[k, n]` plus a row.
pub(super) fn addmm(row: &Operand, a: &Operand, b: &Operand) -> Result<Storage> {
    let row = Some(row);
    run_number(a.storage.dtype(), Product { row, a, b })
}

struct Product<'a> {
    /// The initial value of each row of the result; 0 if there is none.
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
        let (mut a, mut b) = (Factor::<T>::of(self.a)?, Factor::<T>::of(self.b)?);
        a.join_batch(&mut b);
        let (batch, m, n) = (a.batch, a.rows, b.columns);
        let len = batch * m * n;
        check_allocatable::<T>(len)?;
        let products = (m * n).saturating_mul(a.columns);
        let mut out = match self.row {
            // A product of matrices overwrites.
            None if products > SMALL && m > 1 && n > 1 => scratch(len)?,
            None => filled(len, T::zero())?,
            Some(row) => {
                let row = to_row_major::<T>(row)?;
                let mut rows = AlignedVec::with_capacity(len)?;
                (0..m).for_each(|_| rows.extend_from_slice(&row));
                rows
            }
        };
        if len == 0 || a.columns == 0 {
            return Ok(CpuStorage::wrap(out));
        }
        let keep = self.row.is_some();
        let one = |i: usize, out: &mut [T]| {
            if a.columns == 1 && n > 1 {
                return column_by_row(&a, &b, i, keep, out);
            } else if n == 1 {
                return rows_by_vector(&a, &b, i, out);
            } else if m == 1 {
                return rows_by_vector(&b.transposed(), &a.transposed(), i, out);
            } else if m <= FEW && a.column_step == 1 && b.row_step == 1 && a.columns * n > LARGE {
                return few_rows_by_columns(&a, &b, i, keep, out);
            } else {
                T::multiply(a.matrix(i), b.matrix(i), keep, MatrixMut::new(out, m));
            }
            Ok(())
        };
        parallel_for(
            batch,
            products / 32,
            Items(&mut out, m * n),
            &|batch, out| {
                if products <= SMALL {
                    let (a, b, out) = (&a, &b, out.0);
                    run_at_best_level(SmallProducts { a, b, batch, out });
                    return Ok(());
                }
                let mut products = batch.zip(out.0.chunks_exact_mut(m * n));
                products.try_for_each(|(i, out)| one(i, out))
            },
        )?;
        Ok(CpuStorage::wrap(out))
    }
}

/// Below so many multiplications, preparing the blocks of a fast product costs more than it saves.
const SMALL: usize = 1 << 10;

/// Up to so many rows, the columns of a large matrix are read where they lie: to lay them out for tiles takes longer.
const FEW: usize = 4;

/// The number of elements from which a matrix counts as large: it does not fit in the second-level cache.
const LARGE: usize = 1 << 18;

/// A matrix by a vector.
fn rows_by_vector<T: Number>(
    a: &Factor<'_, T>,
    b: &Factor<'_, T>,
    i: usize,
    out: &mut [T],
) -> Result<()> {
    let (data, vector) = (a.data_of(i), b.data_of(i));
    let vector: Cow<'_, [T]> = match b.row_step {
        1 => vector[..a.columns].into(),
        step => (0..a.columns).map(|p| vector[p * step]).collect(),
    };
    let vector = &*vector;
    if a.column_step == 1 {
        add_rows_by_vector(data, a.row_step, vector, out)
    } else if a.row_step == 1 {
        add_columns_by_vector(data, a.column_step, vector, out)
    } else {
        for (r, out) in out.iter_mut().enumerate() {
            for (p, &factor) in vector.iter().enumerate() {
                *out = out.plus(factor.times(data[r * a.row_step + p * a.column_step]));
            }
        }
        Ok(())
    }
}

/// A few rows by columns whose elements follow each other; `keep` says whether it is added to what `out` holds.
fn few_rows_by_columns<T: Number>(
    a: &Factor<'_, T>,
    b: &Factor<'_, T>,
    i: usize,
    keep: bool,
    out: &mut [T],
) -> Result<()> {
    let data = a.data_of(i);
    let rows = (0..a.rows).map(|r| &data[r * a.row_step..][..a.columns]);
    let rows: Vec<&[T]> = rows.collect();
    let mut dots = scratch(out.len())?;
    rows_by_vectors(b.data_of(i), b.column_step, &rows, &mut dots)?;
    for (r, out) in out.chunks_exact_mut(b.columns).enumerate() {
        for (out, dots) in out.iter_mut().zip(dots.chunks_exact(a.rows)) {
            *out = if keep { out.plus(dots[r]) } else { dots[r] };
        }
    }
    Ok(())
}

/// A column by a row, which is written once; `keep` says whether it is added to what `out` holds.
fn column_by_row<T: Number>(
    a: &Factor<'_, T>,
    b: &Factor<'_, T>,
    i: usize,
    keep: bool,
    out: &mut [T],
) -> Result<()> {
    let (column, row) = (a.data_of(i), b.data_of(i));
    let column: Vec<T> = (0..a.rows).map(|r| column[r * a.row_step]).collect();
    let row: Vec<T> = (0..b.columns).map(|c| row[c * b.column_step]).collect();
    let items = Items(out, row.len());
    parallel_for(a.rows, row.len() / 8, items, &|range, out| {
        run_at_best_level(ColumnByRow {
            column: &column[range],
            row: &row,
            keep,
            out: out.0,
        });
        Ok(())
    })
}

struct ColumnByRow<'a, T> {
    column: &'a [T],
    row: &'a [T],
    keep: bool,
    out: &'a mut [T],
}

impl<T: Number> Loop for ColumnByRow<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let lines = self.out.chunks_exact_mut(self.row.len());
        for (line, &factor) in lines.zip(self.column) {
            for (out, &v) in zip_mut(line, self.row) {
                // Sums start from 0, as those of every product do: the sign of a zero depends on it.
                let sum = if self.keep { *out } else { T::zero() };
                *out = sum.plus(factor.times(v));
            }
        }
    }
}

#[cfg(test)]
mod tests;
