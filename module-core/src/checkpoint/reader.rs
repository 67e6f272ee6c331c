use std::cell::RefCell;
#[cfg(feature = "fs")]
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
#[cfg(feature = "fs")]
use std::path::Path;

use super::contents::{Contents, PART, check_size};
use super::format_error::FormatError;
#[cfg(feature = "mmap")]
use super::mapping;
#[cfg(feature = "fs")]
use super::{ReadOptions, read_file, regular};
use crate::backend::{HostData, SharedBytes};
use crate::{DType, Device, Layout, Shape, Tensor};

/// How much of a checkpoint is needed to detect its format: the first entry of an archive, with a name of any length.
const START: usize = 1 << 17;

/// The location of a tensor in a checkpoint.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TensorPlace {
    /// The type of its elements.
    pub dtype: DType,
    /// Its sizes.
    pub shape: Vec<usize>,
    /// The bytes of its elements, in row-major order, little-endian.
    pub range: Range<usize>,
}

impl TensorPlace {
    /// A tensor of these elements.
    pub fn new(dtype: DType, shape: impl Into<Vec<usize>>, range: Range<usize>) -> Self {
        let shape = shape.into();
        Self {
            dtype,
            shape,
            range,
        }
    }
}

/// A checkpoint for a [`Format`](super::Format) to read: a file, bytes in memory, or any reader.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::{CheckpointReader, Format, FormatError, register_format};
/// use module_core::{DType, ReadOptions, StateDict, Tensor};
///
/// /// The word `bytes!`, then the elements of one tensor.
/// struct Bytes;
///
/// impl Format for Bytes {
///     fn name(&self) -> &'static str {
///         "bytes"
///     }
///
///     fn matches(&self, start: &[u8]) -> bool {
///         start.starts_with(b"bytes!")
///     }
///
///     fn read(&self, file: CheckpointReader<'_>, _: &ReadOptions) -> Result<StateDict, FormatError> {
///         assert!(self.matches(file.start()));
///         let length = file.length() - 6;
///         let contents = file.contents()?;
///         let tensor = contents.tensor(DType::U8, &[length], 6..6 + length)?;
///         Ok(StateDict::from_iter([("x", tensor)]))
///     }
/// }
///
/// register_format(Bytes);
/// let state = StateDict::from_bytes(b"bytes!\x01\x02".to_vec())?;
/// assert_eq!(state.get("x").map(Tensor::to_vec::<u8>).transpose()?, Some(vec![1, 2]));
/// # Ok::<(), module_core::Error>(())
/// ```
pub struct CheckpointReader<'a> {
    input: Input<'a>,
    length: usize,
    start: Vec<u8>,
    /// The bytes in memory: given by the caller, or a mapping that the caller has promised not to change.
    shared: Option<SharedBytes>,
}

/// The source of the bytes.
enum Input<'a> {
    #[cfg(feature = "fs")]
    File(File),
    Reader(RefCell<Box<dyn ReadSeek + 'a>>),
    /// The bytes that are shared.
    Memory,
}

trait ReadSeek: Read + Seek {}

impl<R: Read + Seek> ReadSeek for R {}

impl<'a> CheckpointReader<'a> {
    /// A regular file. Parsed parts are copies, so that they stay as they were checked.
    #[cfg(feature = "fs")]
    pub(super) fn open(path: &Path, options: &ReadOptions) -> io::Result<Self> {
        let (file, length) = regular::open(path)?;
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        #[cfg(not(feature = "mmap"))]
        let (shared, _) = (None, options);
        #[cfg(feature = "mmap")]
        let shared = match options.mapped {
            // The system cannot map empty files.
            Some(promise) if length > 0 => Some(SharedBytes::new(mapping::map(&file, promise)?)),
            _ => None,
        };
        Self::new(Input::File(file), length, shared)
    }

    /// Bytes, from which tensors borrow.
    pub(super) fn of_bytes(bytes: SharedBytes) -> io::Result<Self> {
        let length = bytes.as_ref().len();
        Self::new(Input::Memory, length, Some(bytes))
    }

    /// All of a reader's bytes, whatever its current position.
    pub(super) fn of_reader(mut reader: impl Read + Seek + 'a) -> io::Result<Self> {
        let length = reader.seek(SeekFrom::End(0))?;
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Self::new(Input::Reader(RefCell::new(Box::new(reader))), length, None)
    }

    fn new(input: Input<'a>, length: usize, shared: Option<SharedBytes>) -> io::Result<Self> {
        let mut reader = Self {
            input,
            length,
            start: Vec::new(),
            shared,
        };
        reader.start = reader.read(0..length.min(START))?;
        Ok(reader)
    }

    /// The number of bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The first bytes, at most 128 KiB, from which the format is detected.
    pub fn start(&self) -> &[u8] {
        &self.start
    }

    /// A copy of a part.
    ///
    /// # Errors
    ///
    /// Those of the operating system; a part that is out of bounds, or does not fit in memory.
    pub fn read(&self, range: Range<usize>) -> io::Result<Vec<u8>> {
        if range.start > range.end || range.end > self.length {
            let problem = format!("the bytes {range:?} lie outside of the {}", self.length);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, problem));
        }
        let size = range.len();
        // Small reads need no check.
        if size > PART {
            let mut probe = Vec::<u8>::new();
            let too_large = |_| io::Error::from(io::ErrorKind::OutOfMemory);
            probe.try_reserve_exact(size).map_err(too_large)?;
            // Otherwise the compiler may remove the check.
            std::hint::black_box(probe.as_mut_ptr());
        }
        // These zeros are not written: the thread that reads a part is the first to touch it.
        let mut bytes = vec![0; size];
        self.fill(vec![(range.start, &mut bytes)])?;
        Ok(bytes)
    }

    /// All bytes. Bytes in memory are shared; others are read into memory.
    ///
    /// # Errors
    ///
    /// Those of the operating system; more bytes than fit in memory.
    pub fn contents(mut self) -> io::Result<Contents> {
        if let (Input::Memory, Some(bytes)) = (&self.input, &self.shared) {
            return Ok(Contents::of(bytes.clone()));
        }
        let start = std::mem::take(&mut self.start);
        if start.len() == self.length {
            return Ok(Contents::new(start));
        }
        drop(start);
        Ok(Contents::new(self.read(0..self.length)?))
    }

    /// The tensors at these locations, which must not overlap: read straight into their memory, or borrowing from bytes
    /// that are already in memory.
    ///
    /// # Errors
    ///
    /// A location that is out of bounds or does not match the shape; those of the operating system; tensors that do not fit
    /// in memory.
    pub fn tensors(&self, places: &[TensorPlace]) -> Result<Vec<Tensor>, FormatError> {
        for TensorPlace {
            dtype,
            shape,
            range,
        } in places
        {
            check_size(*dtype, shape, range, self.length)?;
        }
        if let Some(shared) = &self.shared {
            let contents = Contents::of(shared.clone());
            let tensor = |p: &TensorPlace| contents.tensor(p.dtype, &p.shape, p.range.clone());
            return Ok(places.iter().map(tensor).collect::<Result<_, _>>()?);
        }
        let mut held = Vec::with_capacity(places.len());
        for TensorPlace { dtype, range, .. } in places {
            held.push(ElementBuffer::new(*dtype, range.len())?);
        }
        let starts = places.iter().map(|place| place.range.start);
        let parts = starts.zip(held.iter_mut().map(ElementBuffer::bytes_mut));
        self.fill(parts.collect())?;
        let upload = |(held, place): (ElementBuffer, &TensorPlace)| {
            let storage = Device::cpu().backend().upload(held.into_elements());
            let storage = storage.map_err(|e| e.to_string())?;
            let shape = Shape::from(place.shape.as_slice());
            Ok(Tensor::from_storage(storage, Layout::contiguous(shape)))
        };
        held.into_iter().zip(places).map(upload).collect()
    }

    /// Fills each part with the bytes from a given position.
    fn fill(&self, mut parts: Vec<(usize, &mut [u8])>) -> io::Result<()> {
        match &self.input {
            #[cfg(feature = "fs")]
            Input::File(file) => read_file::read_into(file, parts),
            Input::Reader(reader) => {
                let mut reader = reader.borrow_mut();
                parts.iter_mut().try_for_each(|(place, part)| {
                    reader.seek(SeekFrom::Start(*place as u64))?;
                    reader.read_exact(part)
                })
            }
            Input::Memory => {
                let bytes = self.shared.as_ref().map_or(&[][..], AsRef::as_ref);
                parts.iter_mut().try_for_each(|(place, part)| {
                    let mut rest = bytes.get(*place..).unwrap_or_default();
                    rest.read_exact(part)
                })
            }
        }
    }
}

/// Memory for the elements of a tensor, into which they are read.
enum ElementBuffer {
    /// They are stored in the file as in memory.
    Elements(HostData),
    /// They are converted from these bytes.
    Bytes(DType, Vec<u8>),
}

impl ElementBuffer {
    fn new(dtype: DType, size: usize) -> Result<Self, String> {
        let fits = HostData::from_le_bytes(dtype, &[]).le_bytes_mut().is_some();
        let (dtype_read, len) = match fits {
            true => (dtype, size / dtype.size_in_bytes()),
            false => (DType::U8, size),
        };
        match HostData::unspecified(dtype_read, len).map_err(|e| e.to_string())? {
            HostData::U8(bytes) if !fits => Ok(Self::Bytes(dtype, bytes)),
            data => Ok(Self::Elements(data)),
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Elements(data) => data.le_bytes_mut().unwrap_or_default(),
            Self::Bytes(_, bytes) => bytes,
        }
    }

    fn into_elements(self) -> HostData {
        match self {
            Self::Elements(data) => data,
            Self::Bytes(dtype, bytes) => HostData::from_le_bytes(dtype, &bytes),
        }
    }
}

#[cfg(test)]
#[cfg(feature = "mmap")]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::mapping::promised;
    use super::CheckpointReader;

    #[test]
    fn what_is_parsed_of_a_mapped_file_is_a_copy() {
        let path = std::env::temp_dir().join(format!("mapped-header-{}", std::process::id()));
        std::fs::write(&path, [7; 4096]).unwrap();
        let reader = CheckpointReader::open(&path, &promised()).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mapped = reader.shared.as_ref().unwrap().as_ref().as_ptr_range();
        let parsed = reader.read(0..8).unwrap();
        assert_eq!(reader.start().len(), 4096);
        for copy in [reader.start(), &parsed] {
            assert!(!mapped.contains(&copy.as_ptr()));
        }
    }
}
