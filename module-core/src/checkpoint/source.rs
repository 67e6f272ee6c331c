//! The bytes of a checkpoint file, from which formats make tensors.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use super::mapping;
use crate::backend::SharedBytes;
use crate::{DType, Device, Shape, Tensor};

/// The content of a file.
pub(super) struct Source {
    bytes: SharedBytes,
}

impl Source {
    pub(super) fn new(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        let bytes = SharedBytes::new(bytes);
        Self { bytes }
    }

    /// Maps a file into memory, or reads it; what is no regular file, as a pipe, is always read.
    pub(super) fn open(path: &Path, mmap: bool) -> io::Result<Self> {
        let mut file = File::open(path)?;
        if mmap && file.metadata()?.is_file() {
            return Ok(Self::new(mapping::map(&file)?));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(Self::new(bytes))
    }

    /// The whole content.
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.as_ref()
    }

    /// A tensor of `shape` whose elements lie row by row in `range`, little-endian.
    ///
    /// It borrows from the content where elements lie as memory holds them. Every format makes its
    /// tensors here, so that how they hold the file is decided in one place.
    pub(super) fn tensor(
        &self,
        dtype: DType,
        shape: &[usize],
        range: Range<usize>,
    ) -> Result<Tensor, String> {
        let size = dtype.size_in_bytes();
        let elements = Shape::from(shape).checked_numel("checkpoint", size);
        let needed = elements.map_err(|e| e.to_string())? * size;
        let bytes = self.bytes.slice(range.clone());
        let Some(bytes) = bytes.filter(|bytes| bytes.as_ref().len() == needed) else {
            return Err(format!(
                "a tensor of shape {shape:?} and dtype {dtype} cannot lie in the bytes {range:?} of {}",
                self.bytes().len()
            ));
        };
        let storage = Device::cpu().backend().borrow(bytes, dtype);
        Ok(Tensor::fresh(
            storage.map_err(|e| e.to_string())?,
            shape.into(),
        ))
    }
}
