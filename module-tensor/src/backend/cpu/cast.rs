//! Casts between dtypes.

use half::{bf16, f16};

use super::carrier::carrier;
use super::narrow::Narrow;
use super::number::Convert;
use super::runs::{map_slices, map1, map1_wide};
use super::truncate::truncate;
use super::view::to_vec;
use super::{CpuStorage, Operand, Storage};
use crate::layout::Layout;
use crate::{Complex, DType, F8E4M3, F8E5M2, Result};

/// Casts happen from the wide types only, and to a dtype that is only stored from one of these; a narrow
/// one is widened first, which loses nothing, so that there are some fifty loops and not 225.
pub(super) fn cast(x: Operand, dtype: DType) -> Result<Storage> {
    match (x.storage.dtype(), dtype) {
        (DType::F32, DType::F16) => return Ok(CpuStorage::wrap(map_slices(&x, f16::narrow)?)),
        (DType::F32, DType::I64) => {
            return Ok(CpuStorage::wrap(map_slices(&x, truncate::<f32>)?));
        }
        (DType::F64, DType::I64) => {
            return Ok(CpuStorage::wrap(map_slices(&x, truncate::<f64>)?));
        }
        (DType::F32, DType::BF16) => return Ok(CpuStorage::wrap(map_slices(&x, bf16::narrow)?)),
        _ => {}
    }
    let wide = match x.storage.dtype() {
        DType::F32 => return cast_from::<f32>(x, dtype),
        DType::F64 => return cast_from::<f64>(x, dtype),
        DType::I64 => return cast_from::<i64>(x, dtype),
        DType::F16 => CpuStorage::wrap(map_slices(&x, f16::widen)?),
        DType::BF16 => CpuStorage::wrap(map_slices(&x, bf16::widen)?),
        DType::I32 => CpuStorage::wrap(map_slices(&x, i32::widen)?),
        // A boolean is the byte 0 or 1.
        DType::Bool | DType::U8 => {
            let bytes = Operand {
                storage: CpuStorage::view(x.storage.clone(), DType::U8)?,
                layout: x.layout.clone(),
            };
            match dtype.is_floating_point() {
                true => CpuStorage::wrap(map1(&bytes, |v: u8| f32::from(v))?),
                false => CpuStorage::wrap(map_slices(&bytes, u8::widen)?),
            }
        }
        stored => match carrier(stored) {
            Some(carrier) => widened_from(stored, x.clone(), carrier)?,
            None => return cast_complex(&x, dtype),
        },
    };
    cast_on(wide, &x, dtype)
}

/// The cast of what an operand was cast to.
fn cast_on(storage: Storage, x: &Operand, dtype: DType) -> Result<Storage> {
    if storage.dtype() == dtype {
        return Ok(storage);
    }
    let layout = Layout::contiguous(x.layout.shape().clone());
    cast(Operand { storage, layout }, dtype)
}

fn cast_complex(x: &Operand, dtype: DType) -> Result<Storage> {
    Ok(match dtype {
        DType::Complex64 => CpuStorage::wrap(to_vec::<Complex<f32>>(x)?),
        // Nothing is lost that a boolean could hold.
        DType::Bool => {
            let truth = |v: Complex<f32>| v.re != 0.0 || v.im != 0.0;
            CpuStorage::wrap(map1(x, truth)?)
        }
        _ => {
            let real = CpuStorage::wrap(map1(x, |v: Complex<f32>| v.re)?);
            return cast_on(real, x, dtype);
        }
    })
}

/// Elements of a dtype that is only stored, in the wide one that holds them. They are read as the bits of the dtype as
/// which they are moved, so that there are fewer loops to compile.
fn widened_from(dtype: DType, mut x: Operand, carrier: DType) -> Result<Storage> {
    x.storage = CpuStorage::view(x.storage, carrier)?;
    Ok(match dtype {
        DType::I8 => CpuStorage::wrap(map1(&x, |bits: u8| i64::from(bits as i8))?),
        DType::I16 => CpuStorage::wrap(map1(&x, |v: f16| i64::from(v.to_bits() as i16))?),
        DType::U16 => CpuStorage::wrap(map1(&x, |v: f16| i64::from(v.to_bits()))?),
        DType::U32 => CpuStorage::wrap(map1(&x, |bits: i32| i64::from(bits as u32))?),
        DType::F8E4M3 => {
            let f = |bits: u8| bytemuck::cast::<_, F8E4M3>(bits).to_f32();
            CpuStorage::wrap(map1(&x, f)?)
        }
        _ => {
            let f = |bits: u8| bytemuck::cast::<_, F8E5M2>(bits).to_f32();
            CpuStorage::wrap(map1(&x, f)?)
        }
    })
}

fn cast_from<T: Convert + PartialEq>(x: Operand, dtype: DType) -> Result<Storage> {
    Ok(match dtype {
        DType::F32 => CpuStorage::wrap(map1(&x, T::to_f32)?),
        DType::F64 => CpuStorage::wrap(map1(&x, T::to_f64)?),
        DType::F16 => CpuStorage::wrap(map1(&x, |v: T| f16::from_f32(v.to_f32()))?),
        DType::BF16 => CpuStorage::wrap(map1(&x, |v: T| bf16::from_f32(v.to_f32()))?),
        // Integers wrap as in PyTorch.
        DType::I32 => CpuStorage::wrap(map1(&x, |v: T| v.to_i64() as i32)?),
        DType::U8 => CpuStorage::wrap(map1(&x, |v: T| v.to_i64() as u8)?),
        DType::Bool => CpuStorage::wrap(map1_wide(&x, |v: T| v != T::default())?),
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
    // Written as the bits of the dtype as which they are moved, as they are read.
    let bits = match dtype {
        DType::I8 => CpuStorage::wrap(map1(&x, |v: i64| v as u8)?),
        DType::I16 | DType::U16 => CpuStorage::wrap(map1(&x, |v: i64| f16::from_bits(v as u16))?),
        DType::U32 => CpuStorage::wrap(map1(&x, |v: i64| v as i32)?),
        DType::F8E4M3 => {
            let f = |v: f32| bytemuck::cast::<_, u8>(F8E4M3::from_f32(v));
            CpuStorage::wrap(map1(&x, f)?)
        }
        DType::F8E5M2 => {
            let f = |v: f32| bytemuck::cast::<_, u8>(F8E5M2::from_f32(v));
            CpuStorage::wrap(map1(&x, f)?)
        }
        _ => CpuStorage::wrap(map1(&x, |v: f32| Complex::new(v, 0.0))?),
    };
    CpuStorage::view(bits, dtype)
}
