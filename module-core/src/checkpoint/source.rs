//! The bytes of a checkpoint file, from which formats make tensors.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;

use super::mapping;
use crate::backend::SharedBytes;
use crate::{DType, Device, Shape, Tensor};

/// Files from this size on are read by several threads: fresh memory costs the system more than the bytes.
#[cfg(unix)]
const LARGE: u64 = 1 << 26;

/// Reads the first `len` bytes of a file, in parts, each on a thread of its own.
#[cfg(unix)]
pub(super) fn read_parts(file: &File, len: u64) -> io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    use std::thread;

    let too_large = |_| io::Error::from(io::ErrorKind::OutOfMemory);
    let size = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    crate::backend::host_room::<u8>(size).map_err(too_large)?;
    // These zeros are not written: the thread that reads a part is the first to touch it.
    let mut bytes = vec![0; size];
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(4));
    let part = size.div_ceil(threads).max(1);
    let each = part as u64;
    thread::scope(|scope| {
        let read = |(i, part): (usize, _)| {
            let start = i as u64 * each;
            let read = move || file.read_exact_at(part, start);
            thread::Builder::new().spawn_scoped(scope, read)
        };
        let readers = bytes.chunks_mut(part).enumerate().map(read);
        let readers: Vec<_> = readers.collect::<io::Result<_>>()?;
        readers.into_iter().try_for_each(|reader| {
            let failed = |_| Err(io::Error::other("a thread that read the file panicked"));
            reader.join().unwrap_or_else(failed)
        })
    })?;
    Ok(bytes)
}

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
        let about = file.metadata()?;
        if mmap && about.is_file() {
            return Ok(Self::new(mapping::map(&file)?));
        }
        #[cfg(unix)]
        if about.is_file() && about.len() >= LARGE {
            return Ok(Self::new(read_parts(&file, about.len())?));
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
