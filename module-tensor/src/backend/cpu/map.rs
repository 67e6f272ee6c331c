//! The one place where a dtype becomes a Rust type, once for each arity.

use super::half_precision::widen;
use super::number::Convert;
use half::slice::HalfFloatSliceExt;

use super::view::{map_slices, map1};
use super::{CpuStorage, Operand, Storage};
use crate::{DType, ErrorKind, Result};

/// Evaluates an expression with `$t` standing for the Rust type of a dtype, or of those listed.
macro_rules! dispatch {
    ($dtype:expr, $t:ident => $body:expr) => {{
        match $dtype {
            $crate::DType::F32 => {
                type $t = f32;
                $body
            }
            $crate::DType::F64 => {
                type $t = f64;
                $body
            }
            $crate::DType::F16 => {
                type $t = half::f16;
                $body
            }
            $crate::DType::BF16 => {
                type $t = half::bf16;
                $body
            }
            $crate::DType::I64 => {
                type $t = i64;
                $body
            }
            $crate::DType::I32 => {
                type $t = i32;
                $body
            }
            $crate::DType::U8 => {
                type $t = u8;
                $body
            }
            $crate::DType::Bool => {
                type $t = bool;
                $body
            }
        }
    }};
}
pub(super) use dispatch;

/// A kernel for the floating-point types in which the CPU computes.
pub(super) trait FloatKernel {
    /// What errors call it.
    fn name(&self) -> &'static str;
    type Output;

    fn run<T: super::float::Float>(self) -> Result<Self::Output>;
}

/// A kernel for the numbers in which the CPU computes; narrow ones come by [`through_wide`].
pub(super) trait NumberKernel {
    /// What errors call it.
    fn name(&self) -> &'static str;
    type Output;

    fn run<T: super::number::Number>(self) -> Result<Self::Output>;
}

pub(super) fn run_float<K: FloatKernel>(dtype: DType, kernel: K) -> Result<K::Output> {
    match dtype {
        DType::F32 => kernel.run::<f32>(),
        DType::F64 => kernel.run::<f64>(),
        _ => {
            let needs = "a floating-point tensor";
            Err(ErrorKind::UnsupportedDType {
                op: kernel.name(),
                dtype,
                needs,
            }
            .into())
        }
    }
}

pub(super) fn run_number<K: NumberKernel>(dtype: DType, kernel: K) -> Result<K::Output> {
    match dtype {
        DType::F32 => kernel.run::<f32>(),
        DType::F64 => kernel.run::<f64>(),
        DType::I64 => kernel.run::<i64>(),
        _ => {
            let needs = "a tensor of numbers";
            Err(ErrorKind::UnsupportedDType {
                op: kernel.name(),
                dtype,
                needs,
            }
            .into())
        }
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
    let narrow = |dtype: &DType| *dtype != wide(*dtype);
    let dtype = operands.first().map(|x| x.storage.dtype());
    match dtype.filter(narrow) {
        Some(dtype) => narrowed(kernel(all_widened(operands)?)?, dtype),
        None => kernel(operands),
    }
}

fn all_widened<const N: usize>(operands: [Operand; N]) -> Result<[Operand; N]> {
    let mut failure = None;
    let operands = operands.map(|x| {
        widened(&x).unwrap_or_else(|error| {
            failure = Some(error);
            x
        })
    });
    failure.map_or(Ok(operands), Err)
}

/// All elements in the dtype that they were widened from.
pub(super) fn narrowed(storage: Storage, dtype: DType) -> Result<Storage> {
    cast(whole(storage)?, dtype)
}

/// The type of arithmetic in which numbers of a dtype are computed. Truth values are not computed with.
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

/// Casts happen from the wide types only; a narrow one is widened first, which loses nothing, so
/// that there are 29 loops and not 64.
pub(super) fn cast(x: Operand, dtype: DType) -> Result<Storage> {
    match (x.storage.dtype(), dtype) {
        (DType::F32, DType::F16) => {
            // By slices, because asking whether the processor converts costs more than it does.
            let f = |from: &[f32], to: &mut [half::f16]| to.convert_from_f32_slice(from);
            return Ok(CpuStorage::wrap(map_slices(&x, &f)?));
        }
        (DType::F32, DType::BF16) => {
            let f = |from: &[f32], to: &mut [half::bf16]| to.convert_from_f32_slice(from);
            return Ok(CpuStorage::wrap(map_slices(&x, &f)?));
        }
        _ => {}
    }
    let wide = match x.storage.dtype() {
        DType::F32 => return cast_from::<f32>(&x, dtype),
        DType::F64 => return cast_from::<f64>(&x, dtype),
        DType::I64 => return cast_from::<i64>(&x, dtype),
        DType::F16 => CpuStorage::wrap(map_slices(&x, &widen::<half::f16>)?),
        DType::BF16 => CpuStorage::wrap(map_slices(&x, &widen::<half::bf16>)?),
        DType::I32 => CpuStorage::wrap(map1(&x, i32::to_i64)?),
        DType::U8 => CpuStorage::wrap(map1(&x, u8::to_i64)?),
        DType::Bool => CpuStorage::wrap(map1(&x, bool::to_i64)?),
    };
    if wide.dtype() == dtype {
        return Ok(wide);
    }
    let layout = crate::layout::Layout::contiguous(x.layout.shape().clone());
    let storage = wide;
    cast(Operand { storage, layout }, dtype)
}

fn cast_from<T: Convert>(x: &Operand, dtype: DType) -> Result<Storage> {
    Ok(match dtype {
        DType::F32 => CpuStorage::wrap(map1(x, T::to_f32)?),
        DType::F64 => CpuStorage::wrap(map1(x, T::to_f64)?),
        DType::F16 => CpuStorage::wrap(map1(x, |v: T| half::f16::from_f32(v.to_f32()))?),
        DType::BF16 => CpuStorage::wrap(map1(x, |v: T| half::bf16::from_f32(v.to_f32()))?),
        DType::I64 => CpuStorage::wrap(map1(x, T::to_i64)?),
        // Integers wrap as in PyTorch.
        DType::I32 => CpuStorage::wrap(map1(x, |v: T| v.to_i64() as i32)?),
        DType::U8 => CpuStorage::wrap(map1(x, |v: T| v.to_i64() as u8)?),
        DType::Bool => CpuStorage::wrap(map1(x, |v: T| v.to_f64() != 0.0)?),
    })
}
