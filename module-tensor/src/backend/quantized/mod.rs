//! Packed storages of quantized weights in host memory.

mod ggml;
mod int4;
mod int8;
mod nf4;

pub use ggml::{BlockFormat, BlockStorage};
pub use int4::{Int4Parts, Int4Storage};
pub use int8::{Int8Parts, Int8Storage};
pub use nf4::{Nf4Absmax, Nf4Parts, Nf4Storage};

use super::{Device, HostData, Operand, PackedRuns, Storage};
use crate::layout::Layout;
use crate::{DType, Error, Result};

/// All elements, unpacked, on a device and in a dtype.
fn unpack_all(runs: &dyn PackedRuns, numel: usize, to: (Device, DType)) -> Result<Storage> {
    let mut values = super::cpu_scratch::<f32>(numel)?;
    runs.unpack_run(0..numel, &mut values);
    let backend = to.0.backend();
    let storage = backend.upload(HostData::F32(values))?;
    if to.1 == DType::F32 {
        return Ok(storage);
    }
    let layout = Layout::contiguous(numel.into());
    backend.cast(Operand { storage, layout }, to.1)
}

/// The groups of a run of elements: of each its index, the range within the run.
fn groups(
    run: std::ops::Range<usize>,
    size: usize,
) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
    let size = size.max(1);
    let mut start = run.start;
    std::iter::from_fn(move || {
        if start >= run.end {
            return None;
        }
        let group = start / size;
        let end = run.end.min((group + 1) * size);
        let part = start - run.start..end - run.start;
        start = end;
        Some((group, part))
    })
}

/// Checks the length of a part.
fn check_len(scheme: &'static str, part: &'static str, len: usize, expected: usize) -> Result<()> {
    if len == expected {
        return Ok(());
    }
    let problem = format!("must be {expected} elements");
    Err(Error::argument(scheme, part, len, problem))
}

/// Checks that unpacked elements are of a dtype that products compute.
fn check_dtype(scheme: &'static str, dtype: DType) -> Result<()> {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => Ok(()),
        _ => Err(dtype.error(scheme, "F32, F16 or BF16; cast with `to_dtype`")),
    }
}

/// Checks that there is no NaN and no infinity, which no scale can express.
fn check_finite(scheme: &'static str, values: &[f32]) -> Result<()> {
    match values.iter().find(|v| !v.is_finite()) {
        Some(value) => {
            let problem = "must be finite; look for the step that made it";
            Err(Error::argument(scheme, "element", value, problem))
        }
        None => Ok(()),
    }
}
