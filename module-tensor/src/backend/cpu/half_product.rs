//! Products of a few rows with a large half-precision matrix: it is converted to `f32` a block at a time,
//! which stays in the caches, where a whole converted matrix would be written to memory and read again.

use half::bf16;

use super::bf16_product::multiply;
use super::bf16_rows::add_bf16_rows_by_vector;
use super::cast::cast;
use super::compute::{Compute, rounded};
use super::map::wide;
use super::matmul::{addmm, matmul};
use super::matrix_vector::add_f16_rows_by_vector;
use super::memory::filled;
use super::pair_kernel::PairKernel;
use super::simd::{Bf16Dot, MatrixUnit};
use super::threads::{Items, parallel_for};
use super::view::{into_vec, to_row_major};
use super::{CpuStorage, Element, Operand, Storage, check_allocatable, elements};
use crate::layout::Layout;
use crate::{DType, Result};

/// The number of elements that are converted at a time: their `f32` stay in the second-level cache.
const BLOCK: usize = 1 << 16;

/// The maximum number of rows: with more, the multiplications take so long that the conversion of the matrix
/// does not matter.
const ROWS: usize = 64;

/// The minimum number of elements of a `bf16` matrix for the instruction that multiplies pairs: its tiles are large.
const MIN_PAIRED: usize = 1 << 11;

/// `a · b`, plus a row if there is one.
pub(super) fn product(row: Option<Operand>, a: Operand, b: Operand) -> Result<Storage> {
    let is_half = matches!(a.storage.dtype(), DType::F16 | DType::BF16);
    if is_half && is_row_by_rows(&a, &b) {
        return match a.storage.dtype() {
            // Converting them takes as long as multiplying them, and there is an instruction for many at a time.
            DType::F16 => by_rows(row, a, &b, add_f16_rows_by_vector),
            _ => by_rows(row, a, &b, add_bf16_rows_by_vector),
        };
    }
    if a.storage.dtype() == DType::BF16
        && a.layout.rank() == 2
        && b.layout.rank() == 2
        && b.layout.shape().numel() >= MIN_PAIRED
    {
        if let Some(unit) = MatrixUnit::detect() {
            return by_pairs(unit, row, &a, &b);
        }
        if let Some(dot) = Bf16Dot::detect() {
            return by_pairs(dot, row, &a, &b);
        }
    }
    let few = a.layout.rank() == 2 && (1..=ROWS).contains(&a.layout.shape()[0]);
    if is_half && few && b.layout.shape().numel() >= 2 * BLOCK {
        return by_blocks(row, a, &b);
    }
    let dtype = a.storage.dtype();
    let [a, b] = [a, b].computed_in(wide(dtype))?;
    let product = match row.computed_in(wide(dtype))? {
        Some(row) => addmm(&row, &a, &b)?,
        None => matmul(&a, &b)?,
    };
    rounded(product, dtype)
}

/// Whether `a` is one row, and the columns of `b` lie as rows, as those of a linear layer's weight do.
fn is_row_by_rows(a: &Operand, b: &Operand) -> bool {
    let (a, b) = (a.layout.shape(), &b.layout);
    a.rank() == 2
        && a[0] == 1
        && b.shape().rank() == 2
        && b.strides()[0] == 1
        && b.shape().numel() > 0
}

/// One row times columns that lie as rows, converted as they are multiplied.
fn by_rows<H: Element>(
    row: Option<Operand>,
    a: Operand,
    b: &Operand,
    add: impl Fn(&[H], usize, &[f32], &mut [f32]) -> Result<()>,
) -> Result<Storage> {
    let (dtype, columns) = (a.storage.dtype(), b.layout.shape()[1]);
    let mut out = match row {
        Some(row) => into_vec(single(row)?)?,
        None => filled(columns, 0.0)?,
    };
    let vector = single(a)?;
    let data = elements::<H>(b)?
        .get(b.layout.offset()..)
        .unwrap_or_default();
    add(
        data,
        b.layout.strides()[1],
        &to_row_major(&vector)?,
        &mut out,
    )?;
    rounded(CpuStorage::wrap(out), dtype)
}

/// The product by an instruction for pairs of `bf16`.
fn by_pairs(
    kernel: impl PairKernel,
    row: Option<Operand>,
    a: &Operand,
    b: &Operand,
) -> Result<Storage> {
    let (rows, columns) = (a.layout.shape()[0], b.layout.shape()[1]);
    let mut out = filled(rows * columns, bf16::ZERO)?;
    let row = row.map(single).transpose()?;
    let row = row.as_ref().map(to_row_major::<f32>).transpose()?;
    multiply(kernel, row.as_deref(), a, b, &mut out)?;
    Ok(CpuStorage::wrap(out))
}

/// The product, some columns of `b` at a time.
fn by_blocks(row: Option<Operand>, a: Operand, b: &Operand) -> Result<Storage> {
    let (dtype, rows) = (a.storage.dtype(), a.layout.shape()[0]);
    let (depth, columns) = (b.layout.shape()[0], b.layout.shape()[1]);
    let width = (BLOCK / depth.max(1)).clamp(1, columns);
    let blocks = columns.div_ceil(width);
    let (a, row) = (single(a)?, row.map(single).transpose()?);
    check_allocatable::<f32>(2 * rows * blocks * width)?;
    // Block after block, the rows of each one after the other.
    let mut products = vec![0.0_f32; rows * blocks * width];
    let items = Items(&mut products, rows * width);
    let steps = (rows * depth * width) / 8;
    parallel_for(blocks, steps, items, &|range, mut out| {
        for (i, block) in range.enumerate() {
            let first = block * width;
            let count = width.min(columns - first);
            let b = single_columns(b, first, count)?;
            let product = match &row {
                None => matmul(&a, &b)?,
                Some(row) => {
                    let layout = row.layout.slice(0, first, count, 1);
                    let storage = row.storage.clone();
                    addmm(&Operand { storage, layout }, &a, &b)?
                }
            };
            let layout = Layout::contiguous([rows, count].into());
            let storage = product;
            let product = Operand { storage, layout };
            out.at(i)[..rows * count].copy_from_slice(&to_row_major(&product)?);
        }
        Ok(())
    })?;
    let mut whole = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        for block in 0..blocks {
            let count = width.min(columns - block * width);
            let start = block * rows * width + row * count;
            whole.extend_from_slice(&products[start..start + count]);
        }
    }
    let layout = Layout::contiguous([rows, columns].into());
    let storage = CpuStorage::wrap(whole);
    cast(Operand { storage, layout }, dtype)
}

/// All elements as `F32`, in row-major order.
fn single(x: Operand) -> Result<Operand> {
    let layout = Layout::contiguous(x.layout.shape().clone());
    let storage = cast(x, DType::F32)?;
    Ok(Operand { storage, layout })
}

/// Some columns of a matrix as `F32`, in the order in which they lie.
fn single_columns(x: &Operand, first: usize, count: usize) -> Result<Operand> {
    let layout = x.layout.slice(1, first, count, 1);
    let storage = x.storage.clone();
    let turned = layout.strides()[0] < layout.strides()[1];
    let layout = if turned {
        layout.permute(&[1, 0])
    } else {
        layout
    };
    let block = single(Operand { storage, layout })?;
    let layout = match turned {
        true => block.layout.permute(&[1, 0]),
        false => block.layout,
    };
    Ok(Operand { layout, ..block })
}
