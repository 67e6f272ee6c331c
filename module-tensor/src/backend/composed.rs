//! Kernels composed of others, for devices that have no such kernel.

use std::ops::RangeInclusive;

use super::{
    Backend, BinaryOp, CompareOp, HostData, Operand, ReduceOp, Storage, UnaryOp,
    check_host_allocatable,
};
use crate::layout::{Layout, Shape};
use crate::{DType, Result};

/// A function of each element, and then the product.
pub(super) fn unary_times<B: Backend + ?Sized>(
    backend: &B,
    op: UnaryOp,
    x: Operand,
    factor: Operand,
) -> Result<Storage> {
    let layout = Layout::contiguous(x.layout.shape().clone());
    let storage = backend.unary(op, x)?;
    backend.binary(BinaryOp::Mul, Operand { storage, layout }, factor)
}

/// The product with the unpacked factor.
pub(super) fn packed_matmul<B: Backend + ?Sized>(
    backend: &B,
    row: Option<Operand>,
    a: Operand,
    b: Operand,
) -> Result<Storage> {
    let b = backend.unpacked(b, a.storage.dtype())?;
    match row {
        Some(row) => backend.addmm(row, a, b),
        None => backend.matmul(a, b),
    }
}

/// A band of matrices, by way of a mask of what is outside.
pub(super) fn keep_band<B: Backend + ?Sized>(
    backend: &B,
    x: Operand,
    band: &RangeInclusive<i64>,
) -> Result<Storage> {
    let &[.., rows, columns] = &**x.layout.shape() else {
        let needs = "at least two dimensions";
        return Err(x.layout.shape().error("keep_band", needs));
    };
    let shape = Shape::from([rows, columns]);
    check_host_allocatable::<bool>(shape.checked_numel("keep_band", 1)?)?;
    // Sizes fit `i64`, like everything in memory.
    let outside = |row: usize, column: usize| !band.contains(&(column as i64 - row as i64));
    let row = |row| (0..columns).map(move |column| outside(row, column));
    let mask = (0..rows).flat_map(row).collect();
    let mask = Operand {
        storage: backend.upload(HostData::Bool(mask))?,
        layout: Layout::contiguous(shape).broadcast_to("keep_band", x.layout.shape())?,
    };
    backend.masked_fill(x, mask, true, 0.into())
}

/// The sums of squares, by way of all squares.
pub(super) fn sum_squares<B: Backend + ?Sized>(
    backend: &B,
    x: Operand,
    dims: &[usize],
) -> Result<Storage> {
    let layout = Layout::contiguous(x.layout.shape().clone());
    let storage = backend.binary(BinaryOp::Mul, x.clone(), x)?;
    backend.reduce(ReduceOp::Sum, Operand { storage, layout }, dims)
}

/// The greatest or least booleans, by way of the bytes 0 and 1.
pub(super) fn extreme_truths<B: Backend + ?Sized>(
    backend: &B,
    op: ReduceOp,
    mask: Operand,
    dims: &[usize],
) -> Result<Storage> {
    let shape = mask.layout.shape().clone();
    let storage = backend.full(1, DType::U8, 0.into())?;
    let layout = Layout::contiguous(Shape::default()).broadcast_to("any", &shape)?;
    let zeros = Operand { storage, layout };
    let storage = backend.masked_fill(zeros, mask, true, 1.into())?;
    let layout = Layout::contiguous(shape.clone());
    let storage = backend.reduce(op, Operand { storage, layout }, dims)?;
    let layout = Layout::contiguous(shape.reduced(dims, true));
    backend.compare_scalar(CompareOp::Ne, Operand { storage, layout }, 0.into())
}

/// Counts, as sums of ones.
pub(super) fn bincount<B: Backend + ?Sized>(
    backend: &B,
    x: Operand,
    length: usize,
) -> Result<Storage> {
    let storage = backend.full(1, DType::I64, 1.into())?;
    let layout = Layout::contiguous(Shape::default()).broadcast_to("bincount", x.layout.shape())?;
    let ones = Operand { storage, layout };
    let storage = backend.full(length, DType::I64, 0.into())?;
    let layout = Layout::contiguous(length.into());
    backend.scatter_add(Operand { storage, layout }, 0, x, ones)
}

/// A packed operand in its layout, unpacked and cast.
pub(super) fn unpacked<B: Backend + ?Sized>(
    backend: &B,
    x: Operand,
    dtype: DType,
) -> Result<Operand> {
    let Some(packed) = x.storage.packed() else {
        return Ok(x);
    };
    let (storage, numel) = (packed.unpack()?, packed.numel());
    storage.check_plain("unpack")?;
    if storage.dtype() == dtype {
        return Ok(Operand { storage, ..x });
    }
    let layout = Layout::contiguous(numel.into());
    let storage = backend.cast(Operand { storage, layout }, dtype)?;
    Ok(Operand { storage, ..x })
}
