use std::ops::Range;

use crate::backend::SharedBytes;
use crate::{DType, Device, Layout, Shape, Tensor};

/// How many bytes are read at a time.
pub(super) const PART: usize = 1 << 23;

/// The bytes of a whole checkpoint, from which a [`Format`](super::Format) makes tensors.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::Contents;
/// use module_core::DType;
///
/// let contents = Contents::new(vec![1_u8, 2, 3]);
/// let tensor = contents.tensor(DType::U8, &[2], 1..3)?;
/// assert_eq!(tensor.to_vec::<u8>()?, [2, 3]);
/// assert!(contents.tensor(DType::U8, &[2], 2..4).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Contents {
    bytes: SharedBytes,
}

impl Contents {
    /// The contents with these bytes.
    pub fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self::of(SharedBytes::new(bytes))
    }

    pub(super) fn of(bytes: SharedBytes) -> Self {
        Self { bytes }
    }

    /// All bytes.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::checkpoint::Contents;
    ///
    /// let contents = Contents::new(b"MAGIC\x01".to_vec());
    /// assert!(contents.bytes().starts_with(b"MAGIC"));
    /// ```
    pub fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// A tensor of `shape` whose elements are in the bytes of `range`, in row-major order, little-endian.
    ///
    /// If elements are stored as in memory, the tensor borrows from the contents and keeps them alive.
    ///
    /// # Errors
    ///
    /// A range out of bounds, or whose length does not match the elements.
    // Every format makes its tensors here or in `CheckpointReader::tensors`, so that one place decides how they hold the
    // file.
    pub fn tensor(
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

/// Refuses a shape whose elements do not match the bytes of a range, which must lie within `length` bytes.
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
    let early = match range.end > length {
        true => "the file ends early (truncated?); download or save it again: ",
        false => "",
    };
    Err(format!(
        "{early}a tensor of shape {shape} and dtype {dtype} cannot lie in the bytes {range:?} of {length}"
    ))
}
