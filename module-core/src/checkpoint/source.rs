//! The bytes of a checkpoint file, from which formats make tensors.

use std::ops::Range;

use crate::backend::HostData;
use crate::{DType, Shape, Tensor};

/// The content of a file.
pub(super) struct Source {
    bytes: Vec<u8>,
}

impl Source {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }

    /// The whole content.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A tensor of `shape` whose elements lie row by row in `range`, little-endian.
    ///
    /// Every format makes its tensors here, so that how they hold the file is decided in one place.
    pub(super) fn tensor(
        &self,
        dtype: DType,
        shape: &[usize],
        range: Range<usize>,
    ) -> Result<Tensor, String> {
        let size = dtype.size_in_bytes();
        let elements = Shape::from(shape).checked_numel("checkpoint", size);
        let needed = elements.map_err(|e| e.to_string())? * size;
        match self
            .bytes
            .get(range.clone())
            .filter(|bytes| bytes.len() == needed)
        {
            Some(bytes) => Tensor::from_host(HostData::from_le_bytes(dtype, bytes), shape)
                .map_err(|e| e.to_string()),
            None => Err(format!(
                "a tensor of shape {shape:?} and dtype {dtype} cannot lie in the bytes {range:?} of {}",
                self.bytes.len()
            )),
        }
    }
}
