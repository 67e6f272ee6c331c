//! Running sums.

use super::map::cast;
use super::number::Number;
use super::view::to_vec;
use super::{CpuStorage, Operand, Storage};
use crate::layout::Layout;
use crate::{DType, ErrorKind, Result};

/// Floating-point sums run in `f64` and are rounded at the end, as in PyTorch.
pub(super) fn cumsum(x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
    let dtype = x.storage.dtype();
    match dtype {
        DType::F64 => running::<f64>(&x, dim, reverse),
        DType::I64 => running::<i64>(&x, dim, reverse),
        DType::F32 | DType::F16 | DType::BF16 => {
            let layout = Layout::contiguous(x.layout.shape().clone());
            let storage = cast(x, DType::F64)?;
            let wide = Operand {
                storage,
                layout: layout.clone(),
            };
            let storage = running::<f64>(&wide, dim, reverse)?;
            cast(Operand { storage, layout }, dtype)
        }
        _ => Err(ErrorKind::UnsupportedDType {
            op: "cumsum",
            dtype,
            needs: "a floating-point or int64 tensor",
        }
        .into()),
    }
}

fn running<T: Number>(x: &Operand, dim: usize, reverse: bool) -> Result<Storage> {
    let shape = x.layout.shape();
    let inner: usize = shape[dim + 1..].iter().product();
    let mut values = to_vec::<T>(x)?;
    if values.is_empty() {
        return Ok(CpuStorage::wrap(values));
    }
    for block in values.chunks_exact_mut(shape[dim] * inner) {
        let pairs = inner..block.len();
        if reverse {
            for i in pairs.rev() {
                block[i - inner] = block[i - inner].plus(block[i]);
            }
        } else {
            for i in pairs {
                block[i] = block[i].plus(block[i - inner]);
            }
        }
    }
    Ok(CpuStorage::wrap(values))
}
