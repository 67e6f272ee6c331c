//! Code that the storages share.

use super::super::{
    BlockFormat, Device, HostData, Operand, Packed, PackedRuns, Storage, StorageData,
};
use crate::layout::Layout;
use crate::{DType, Error, Result};

/// A storage of packed elements in host memory that are unpacked in runs: the properties from which [`StorageData`] and
/// [`Packed`] are implemented.
pub(in crate::backend) trait HostPacked:
    PackedRuns + Sized + Send + 'static
{
    /// The name of its scheme.
    fn scheme(&self) -> &'static str;

    /// The number of elements.
    fn numel(&self) -> usize;

    /// The bytes that they take.
    fn size_in_bytes(&self) -> usize;

    /// The dtype of unpacked elements.
    fn dtype(&self) -> DType;

    /// The device of unpacked elements.
    fn device(&self) -> Device;

    /// The layout of its blocks, if they are ggml's.
    fn block_format(&self) -> Option<BlockFormat> {
        None
    }

    /// The same elements, whose unpacked form is on another device; the packed ones stay in host memory.
    fn on(&self, device: Device) -> Self;
}

impl<T: HostPacked> StorageData for T {
    fn dtype(&self) -> DType {
        HostPacked::dtype(self)
    }

    fn device(&self) -> Device {
        HostPacked::device(self)
    }

    fn packed(&self) -> Option<&dyn Packed> {
        Some(self)
    }
}

impl<T: HostPacked> Packed for T {
    fn scheme(&self) -> &'static str {
        HostPacked::scheme(self)
    }

    fn numel(&self) -> usize {
        HostPacked::numel(self)
    }

    fn size_in_bytes(&self) -> usize {
        HostPacked::size_in_bytes(self)
    }

    fn unpack(&self) -> Result<Storage> {
        let numel = HostPacked::numel(self);
        let mut values = super::super::cpu_scratch::<f32>(numel)?;
        self.unpack_run(0..numel, &mut values);
        let device = HostPacked::device(self);
        let backend = device.backend();
        let storage = match device == Device::cpu() {
            true => super::super::cpu_storage(values),
            false => backend.upload(HostData::F32(values.to_vec()))?,
        };
        let dtype = HostPacked::dtype(self);
        if dtype == DType::F32 {
            return Ok(storage);
        }
        let layout = Layout::contiguous(numel.into());
        backend.cast(Operand { storage, layout }, dtype)
    }

    fn to_device(&self, device: &Device) -> Result<Storage> {
        Ok(Storage::new(self.on(*device)))
    }

    fn block_format(&self) -> Option<BlockFormat> {
        HostPacked::block_format(self)
    }

    fn runs(&self) -> Option<&dyn PackedRuns> {
        Some(self)
    }
}

/// The groups of a run of elements: for each, its index and its range in the run.
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

/// Checks that the dtype of unpacked elements is one that products support.
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
