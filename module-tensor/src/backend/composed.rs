//! Kernels composed of others, for devices that have no such kernel.

use super::{Backend, BinaryOp, CompareOp, Operand, ReduceOp, Storage};
use crate::layout::{Layout, Shape};
use crate::{DType, Result};

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

/// The greatest or least truth values, by way of the bytes 0 and 1.
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
