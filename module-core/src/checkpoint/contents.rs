//! The bytes of a checkpoint, from which formats make tensors.

use std::ops::Range;

use crate::backend::SharedBytes;
use crate::{DType, Device, Layout, Shape, Tensor};

/// The content of a file.
pub(super) struct Source {
    bytes: SharedBytes,
}

impl Source {
    pub(super) fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::of(SharedBytes::new(bytes))
    }

    pub(super) fn of(bytes: SharedBytes) -> Self {
        Self { bytes }
    }

    /// The whole content.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// A tensor of `shape` whose elements lie row by row in `range`, little-endian.
    ///
    /// It borrows from the content where elements lie as memory holds them. Every format makes its
    /// tensors here or in [`Opened::tensors`](super::opened::Opened::tensors), so that how they hold the
    /// file is decided in one place.
    pub(super) fn tensor(
        &self,
        dtype: DType,
        shape: &[usize],
        range: Range<usize>,
    ) -> Result<Tensor, String> {
        check_size(dtype, shape, &range, self.bytes().len())?;
        let bytes = self.bytes.slice(range);
        let bytes = bytes.ok_or("elements past the end of the file")?;
        let storage = Device::cpu().backend().borrow(bytes, dtype);
        let layout = Layout::contiguous(shape.into());
        Ok(Tensor::from_storage(
            storage.map_err(|e| e.to_string())?,
            layout,
        ))
    }
}

/// Refuses a shape whose elements are not as many as the bytes of a range, which must lie inside of
/// `length` bytes.
pub(super) fn check_size(
    dtype: DType,
    shape: &[usize],
    range: &Range<usize>,
    length: usize,
) -> Result<(), String> {
    let (shape, size) = (Shape::from(shape), dtype.size_in_bytes());
    let elements = shape.checked_numel("checkpoint", size);
    let needed = elements.map_err(|e| e.to_string())? * size;
    if range.end <= length && range.end.checked_sub(range.start) == Some(needed) {
        return Ok(());
    }
    Err(format!(
        "a tensor of shape {shape} and dtype {dtype} cannot lie in the bytes {range:?} of {length}"
    ))
}
