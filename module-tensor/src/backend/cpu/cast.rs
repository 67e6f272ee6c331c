//! Casts between dtypes.

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

use super::half_precision::widen;
use super::number::Convert;
use super::view::{map_slices, map1, to_vec};
use super::{CpuStorage, Operand, Storage};
use crate::layout::Layout;
use crate::{Complex, DType, F8E4M3, F8E5M2, Result};

/// Casts happen from the wide types only, and to a dtype that is only stored from one of these; a narrow
/// one is widened first, which loses nothing, so that there are some fifty loops and not 225.
pub(super) fn cast(x: Operand, dtype: DType) -> Result<Storage> {
    match (x.storage.dtype(), dtype) {
        (DType::F32, DType::F16) => {
            // By slices, because asking whether the processor converts costs more than it does.
            let f = |from: &[f32], to: &mut [f16]| to.convert_from_f32_slice(from);
            return Ok(CpuStorage::wrap(map_slices(&x, &f)?));
        }
        (DType::F32, DType::BF16) => {
            let f = |from: &[f32], to: &mut [bf16]| to.convert_from_f32_slice(from);
            return Ok(CpuStorage::wrap(map_slices(&x, &f)?));
        }
        _ => {}
    }
    let wide = match x.storage.dtype() {
        DType::F32 => return cast_from::<f32>(x, dtype),
        DType::F64 => return cast_from::<f64>(x, dtype),
        DType::I64 => return cast_from::<i64>(x, dtype),
        DType::F16 => CpuStorage::wrap(map_slices(&x, &widen::<f16>)?),
        DType::BF16 => CpuStorage::wrap(map_slices(&x, &widen::<bf16>)?),
        DType::I32 => CpuStorage::wrap(map1(&x, i32::to_i64)?),
        DType::U8 => CpuStorage::wrap(map1(&x, u8::to_i64)?),
        DType::Bool => CpuStorage::wrap(map1(&x, bool::to_i64)?),
        DType::I8 => CpuStorage::wrap(map1(&x, |v: i8| i64::from(v))?),
        DType::I16 => CpuStorage::wrap(map1(&x, |v: i16| i64::from(v))?),
        DType::U16 => CpuStorage::wrap(map1(&x, |v: u16| i64::from(v))?),
        DType::U32 => CpuStorage::wrap(map1(&x, |v: u32| i64::from(v))?),
        DType::F8E4M3 => CpuStorage::wrap(map1(&x, F8E4M3::to_f32)?),
        DType::F8E5M2 => CpuStorage::wrap(map1(&x, F8E5M2::to_f32)?),
        DType::Complex64 => match dtype {
            DType::Complex64 => return Ok(CpuStorage::wrap(to_vec::<Complex<f32>>(&x)?)),
            // Nothing is lost that a truth value could hold.
            DType::Bool => {
                let truth = |v: Complex<f32>| v.re != 0.0 || v.im != 0.0;
                return Ok(CpuStorage::wrap(map1(&x, truth)?));
            }
            _ => CpuStorage::wrap(map1(&x, |v: Complex<f32>| v.re)?),
        },
    };
    if wide.dtype() == dtype {
        return Ok(wide);
    }
    let layout = Layout::contiguous(x.layout.shape().clone());
    let storage = wide;
    cast(Operand { storage, layout }, dtype)
}

fn cast_from<T: Convert>(x: Operand, dtype: DType) -> Result<Storage> {
    Ok(match dtype {
        DType::F32 => CpuStorage::wrap(map1(&x, T::to_f32)?),
        DType::F64 => CpuStorage::wrap(map1(&x, T::to_f64)?),
        DType::F16 => CpuStorage::wrap(map1(&x, |v: T| f16::from_f32(v.to_f32()))?),
        DType::BF16 => CpuStorage::wrap(map1(&x, |v: T| bf16::from_f32(v.to_f32()))?),
        DType::I64 => CpuStorage::wrap(map1(&x, T::to_i64)?),
        // Integers wrap as in PyTorch.
        DType::I32 => CpuStorage::wrap(map1(&x, |v: T| v.to_i64() as i32)?),
        DType::U8 => CpuStorage::wrap(map1(&x, |v: T| v.to_i64() as u8)?),
        DType::Bool => CpuStorage::wrap(map1(&x, |v: T| v.to_f64() != 0.0)?),
        _ => return stored(x, dtype),
    })
}

/// Elements of a dtype that is only stored: integers are made of `i64`, the others of `f32`.
fn stored(x: Operand, dtype: DType) -> Result<Storage> {
    let wide = match dtype {
        DType::F8E4M3 | DType::F8E5M2 | DType::Complex64 => DType::F32,
        _ => DType::I64,
    };
    if x.storage.dtype() != wide {
        let layout = Layout::contiguous(x.layout.shape().clone());
        let storage = cast(x, wide)?;
        return stored(Operand { storage, layout }, dtype);
    }
    Ok(match dtype {
        DType::I8 => CpuStorage::wrap(map1(&x, |v: i64| v as i8)?),
        DType::I16 => CpuStorage::wrap(map1(&x, |v: i64| v as i16)?),
        DType::U16 => CpuStorage::wrap(map1(&x, |v: i64| v as u16)?),
        DType::U32 => CpuStorage::wrap(map1(&x, |v: i64| v as u32)?),
        DType::F8E4M3 => CpuStorage::wrap(map1(&x, F8E4M3::from_f32)?),
        DType::F8E5M2 => CpuStorage::wrap(map1(&x, F8E5M2::from_f32)?),
        _ => CpuStorage::wrap(map1(&x, |v: f32| Complex::new(v, 0.0))?),
    })
}
