//! Kernels by the types in which the CPU computes or moves elements, and the ways of other dtypes there.

use super::carrier::carrier;
use super::cast::cast;
use super::dispatch::dispatch;
use super::{CpuStorage, Operand, Storage};
use crate::{DType, Result};

/// A kernel for the floating-point types in which the CPU computes.
pub(super) trait FloatKernel {
    /// Its name in errors.
    fn name(&self) -> &'static str;
    type Output;

    fn run<T: super::float::Float>(self) -> Result<Self::Output>;
}

/// A kernel for the numbers in which the CPU computes; narrow ones come by [`through_wide`].
pub(super) trait NumberKernel {
    /// Its name in errors.
    fn name(&self) -> &'static str;
    type Output;

    fn run<T: super::number::Number>(self) -> Result<Self::Output>;
}

pub(super) fn run_float<K: FloatKernel>(dtype: DType, kernel: K) -> Result<K::Output> {
    match dtype {
        DType::F32 => kernel.run::<f32>(),
        DType::F64 => kernel.run::<f64>(),
        _ => Err(dtype.error(kernel.name(), "a floating-point tensor")),
    }
}

pub(super) fn run_number<K: NumberKernel>(dtype: DType, kernel: K) -> Result<K::Output> {
    match dtype {
        DType::F32 => kernel.run::<f32>(),
        DType::F64 => kernel.run::<f64>(),
        DType::I64 => kernel.run::<i64>(),
        _ => Err(dtype.error(kernel.name(), "a tensor of numbers")),
    }
}

/// The dtype in which numbers of a floating-point one are computed; others are left as they are.
pub(super) fn single(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        _ => dtype,
    }
}

/// Half-precision arithmetic is `f32` arithmetic with the result rounded, as in PyTorch.
pub(super) fn through_f32<const N: usize>(
    operands: [Operand; N],
    kernel: impl FnOnce([Operand; N]) -> Result<Storage>,
) -> Result<Storage> {
    match operands.first().map(|x| x.storage.dtype()) {
        Some(DType::F16 | DType::BF16) => through_wide(operands, kernel),
        _ => kernel(operands),
    }
}

/// [`through_f32`], and arithmetic of narrow integers is that of `i64` with the result wrapped, which is
/// the same, so that there are fewer loops to compile.
pub(super) fn through_wide<const N: usize>(
    operands: [Operand; N],
    kernel: impl FnOnce([Operand; N]) -> Result<Storage>,
) -> Result<Storage> {
    let mut operands = operands;
    let Some(first) = operands.first().filter(|x| !is_wide(x)) else {
        return kernel(operands);
    };
    let dtype = first.storage.dtype();
    for x in &mut operands {
        *x = widened(x)?;
    }
    narrowed(kernel(operands)?, dtype)
}

/// Whether the elements are computed with as they are.
#[inline]
pub(super) fn is_wide(x: &Operand) -> bool {
    let dtype = x.storage.dtype();
    wide(dtype) == dtype
}

/// All elements in the dtype that they were widened from.
pub(super) fn narrowed(storage: Storage, dtype: DType) -> Result<Storage> {
    cast(whole(storage)?, dtype)
}

/// The type of arithmetic in which numbers of a dtype are computed. Booleans are not computed with.
pub(super) fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::I32 | DType::U8 => DType::I64,
        _ => dtype,
    }
}

/// The elements in a type that keeps their order and in which the CPU computes.
pub(super) fn widened(x: &Operand) -> Result<Operand> {
    let dtype = match x.storage.dtype() {
        DType::Bool => DType::I64,
        dtype => wide(dtype),
    };
    if dtype == x.storage.dtype() {
        return Ok(x.clone());
    }
    // The whole memory is cast, so that the layout stays as it is.
    Ok(Operand {
        storage: cast(whole(x.storage.clone())?, dtype)?,
        layout: x.layout.clone(),
    })
}

/// All elements of a storage.
fn whole(storage: Storage) -> Result<Operand> {
    let layout = crate::layout::Layout::contiguous(crate::Shape::from(len(&storage)?));
    Ok(Operand { storage, layout })
}

fn len(storage: &Storage) -> Result<usize> {
    dispatch!(storage.dtype(), T => Ok(super::elements_of::<T>(storage)?.len()))
}

/// Runs a kernel that moves elements and computes nothing with them. Those of a dtype that is only
/// stored go as elements of another dtype of their width, bit for bit, so that there are no more loops
/// to compile.
pub(super) fn by_width<O: AsMut<[Operand]>>(
    mut operands: O,
    kernel: impl FnOnce(O) -> Result<Storage>,
) -> Result<Storage> {
    let dtype = operands.as_mut().first().map(|x| x.storage.dtype());
    let Some((dtype, carrier)) = dtype.and_then(|dtype| Some((dtype, carrier(dtype)?))) else {
        return kernel(operands);
    };
    for x in operands.as_mut() {
        x.storage = CpuStorage::view(x.storage.clone(), carrier)?;
    }
    CpuStorage::view(kernel(operands)?, dtype)
}
