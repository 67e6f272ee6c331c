//! Products with a packed matrix. For few rows, each row of the matrix is unpacked to the first-level cache and
//! multiplied there; for more, parts of the matrix are unpacked to the panels of the product.

use std::ops::Range;

use super::aligned_vec::Workspace;
use super::cast::cast;
use super::coded_rows;
use super::compute::rounded;
use super::gemm::{Factor, Lines, Matrix, MatrixMut, multiply_factors, pack_panels};
use super::int8_product;
use super::map::wide;
use super::memory::{filled, scratch};
use super::packed_rows::{PackedMatrix, add_dots};
use super::simd::Level;
use super::view::{into_vec, to_row_major};
use super::{CpuStorage, Operand, Storage};
use crate::layout::Layout;
use crate::{DType, Result};

/// The maximum number of rows that are multiplied with one unpacked row after the other.
const FEW: usize = 4;

/// `a · b`, plus a row if there is one, in the dtype of `a`; `None` if `b` is not packed, or not in rows or columns
/// that can be unpacked in runs, or if `a` is not a factor that is computed as `F32`.
pub(super) fn packed_matmul(
    row: Option<&Operand>,
    a: &Operand,
    b: &Operand,
) -> Result<Option<Storage>> {
    let dtype = a.storage.dtype();
    let Some(matrix) = PackedMatrix::of(b).filter(|_| wide(dtype) == DType::F32) else {
        return Ok(None);
    };
    let (m, n) = (a.layout.shape()[0], b.layout.shape()[1]);
    let a = single(a)?;
    let a = to_row_major::<f32>(&a)?;
    let row = row.map(|row| into_vec::<f32>(single(row)?)).transpose()?;
    let few = matrix.transposed && m <= FEW;
    let int8 = matrix.rounding_inputs();
    let mut out = match &row {
        // Products of more rows overwrite.
        None if !few && int8.is_none() && !a.is_empty() => scratch(m * n)?,
        None => filled(m * n, 0.0)?,
        Some(row) => row.repeat(m).into(),
    };
    if !out.is_empty() && !a.is_empty() {
        match int8 {
            Some(weight) => int8_product::add(&a, weight, &mut out)?,
            None if few => match matrix.coded_rows() {
                Some(codes) => coded_rows::add_dots(&a, codes, matrix.len(), &mut out)?,
                None => add_dots(&a, &matrix, &mut out)?,
            },
            None => {
                let out = MatrixMut::new(&mut out, m);
                multiply_factors(&Matrix::new(&a, m), &matrix, row.is_some(), out);
            }
        }
    }
    rounded(CpuStorage::wrap(out), dtype).map(Some)
}

/// All elements as `F32`, in row-major order.
fn single(x: &Operand) -> Result<Operand> {
    let layout = Layout::contiguous(x.layout.shape().clone());
    let storage = cast(x.clone(), DType::F32)?;
    Ok(Operand { storage, layout })
}

impl Factor<f32> for PackedMatrix<'_> {
    fn rows(&self) -> usize {
        self.sizes()[0]
    }

    fn columns(&self) -> usize {
        self.sizes()[1]
    }

    fn lines<'a>(
        &'a self,
        _level: Level,
        [rows, inner]: [Range<usize>; 2],
        copy: &'a mut Workspace<f32>,
    ) -> Lines<'a, f32> {
        let mut part = Workspace::new();
        let (count, len) = (rows.len(), inner.len());
        let part = self.part([rows, inner], &mut part);
        let copy = copy.of(count * len);
        for (i, line) in copy.chunks_exact_mut(len.max(1)).enumerate() {
            let elements = line.iter_mut().enumerate();
            elements.for_each(|(j, copy)| *copy = part.at(i, j));
        }
        Lines::new(copy, len)
    }

    fn panels<'a>(
        &'a self,
        level: Level,
        [inner, columns]: [Range<usize>; 2],
        width: usize,
        copy: &'a mut Workspace<f32>,
    ) -> &'a [f32] {
        let mut part = Workspace::new();
        let sizes = [inner.len(), columns.len()];
        let part = self.part([inner, columns], &mut part);
        pack_panels(level, &part, [0..sizes[0], 0..sizes[1]], width, copy)
    }
}
