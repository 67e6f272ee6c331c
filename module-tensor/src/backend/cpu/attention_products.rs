//! The products of attention: of queries and keys, and of scores and values.
//!
//! One query, as a model that writes token by token has, reads keys and values once, where they lie.

#[cfg(test)]
mod tests;

use super::float::Float;
use super::gemm::{Matrix, MatrixMut, multiply};
use super::matrix_vector::{add_columns_by_vector, add_rows_by_vector};
use crate::Result;

/// The product of each query with each key, whose `width` elements follow each other: `rows` of scores.
pub(super) fn write_scores<T: Float>(
    query: &[T],
    key: &[T],
    width: usize,
    rows: usize,
    scores: &mut [T],
) -> Result<()> {
    if rows == 1 {
        scores.fill(T::zero());
        return add_rows_by_vector(key, width, query, scores);
    }
    let keys = Matrix::new(key, scores.len() / rows).t();
    let (query, scores) = (Matrix::new(query, rows), MatrixMut::new(scores, rows));
    multiply(T::one(), query, keys, false, scores);
    Ok(())
}

/// The sums of the values, whose `width` elements follow each other, multiplied by each of the `rows` of scores.
pub(super) fn write_sums<T: Float>(
    scores: &[T],
    value: &[T],
    width: usize,
    rows: usize,
    out: &mut [T],
) -> Result<()> {
    if rows == 1 {
        out.fill(T::zero());
        return add_columns_by_vector(value, width, scores, out);
    }
    let values = Matrix::new(value, scores.len() / rows);
    let (scores, out) = (Matrix::new(scores, rows), MatrixMut::new(out, rows));
    multiply(T::one(), scores, values, false, out);
    Ok(())
}
