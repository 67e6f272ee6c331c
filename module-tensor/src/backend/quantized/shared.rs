//! What the storages have in common.

use super::super::{Device, HostData, Operand, PackedRuns, Storage};
use crate::layout::Layout;
use crate::{DType, Error, Result};

/// All elements, unpacked, on a device and in a dtype.
pub(super) fn unpack_all(
    runs: &dyn PackedRuns,
    numel: usize,
    to: (Device, DType),
) -> Result<Storage> {
    let mut values = super::super::cpu_scratch::<f32>(numel)?;
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
pub(super) fn groups(
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
pub(super) fn check_len(
    scheme: &'static str,
    part: &'static str,
    len: usize,
    expected: usize,
) -> Result<()> {
    if len == expected {
        return Ok(());
    }
    let problem = format!("must be {expected} elements");
    Err(Error::argument(scheme, part, len, problem))
}

/// Checks that unpacked elements are of a dtype that products compute.
pub(super) fn check_dtype(scheme: &'static str, dtype: DType) -> Result<()> {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => Ok(()),
        _ => Err(dtype.error(scheme, "F32, F16 or BF16; cast with `to_dtype`")),
    }
}

/// Checks that there is no NaN and no infinity, which no scale can express.
pub(super) fn check_finite(scheme: &'static str, values: &[f32]) -> Result<()> {
    match values.iter().find(|v| !v.is_finite()) {
        Some(value) => {
            let problem = "must be finite; look for the step that made it";
            Err(Error::argument(scheme, "element", value, problem))
        }
        None => Ok(()),
    }
}
