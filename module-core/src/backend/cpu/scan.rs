//! Running sums and products.

use super::map::cast;
use super::number::Number;
use super::view::to_vec;
use super::{CpuStorage, Operand, Storage};
use crate::layout::Layout;
use crate::{DType, ErrorKind, Result};

pub(super) fn cumsum(x: Operand, dim: usize, reverse: bool) -> Result<Storage> {
    let running = match x.storage.dtype() {
        DType::I64 => Running::Integers(i64::plus),
        _ => Running::Floats(f64::plus),
    };
    scan("cumsum", x, dim, reverse, running)
}

pub(super) fn cumprod(x: Operand, dim: usize) -> Result<Storage> {
    let running = match x.storage.dtype() {
        DType::I64 => Running::Integers(i64::times),
        _ => Running::Floats(f64::times),
    };
    scan("cumprod", x, dim, false, running)
}

/// How an element is joined to what came before it.
enum Running {
    Floats(fn(f64, f64) -> f64),
    Integers(fn(i64, i64) -> i64),
}

/// Floating-point results run in `f64` and are rounded at the end, as in PyTorch.
fn scan(op: &'static str, x: Operand, dim: usize, reverse: bool, join: Running) -> Result<Storage> {
    let dtype = x.storage.dtype();
    match (dtype, join) {
        (DType::F64, Running::Floats(join)) => running(&x, dim, reverse, join),
        (DType::I64, Running::Integers(join)) => running(&x, dim, reverse, join),
        (DType::F32 | DType::F16 | DType::BF16, Running::Floats(join)) => {
            let layout = Layout::contiguous(x.layout.shape().clone());
            let storage = cast(x, DType::F64)?;
            let wide = Operand {
                storage,
                layout: layout.clone(),
            };
            let storage = running(&wide, dim, reverse, join)?;
            cast(Operand { storage, layout }, dtype)
        }
        _ => Err(ErrorKind::UnsupportedDType {
            op,
            dtype,
            needs: "a floating-point or int64 tensor",
        }
        .into()),
    }
}

fn running<T: Number>(
    x: &Operand,
    dim: usize,
    reverse: bool,
    join: impl Fn(T, T) -> T,
) -> Result<Storage> {
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
                block[i - inner] = join(block[i - inner], block[i]);
            }
        } else {
            for i in pairs {
                block[i] = join(block[i], block[i - inner]);
            }
        }
    }
    Ok(CpuStorage::wrap(values))
}
