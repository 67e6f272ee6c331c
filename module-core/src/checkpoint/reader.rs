//! A checkpoint file that is open: its beginning, and its elements, read where they are asked for.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use super::mapping::{self, Promise};
use super::problem::Problem;
use super::regular;
use super::source::{Source, check_size};
use crate::backend::{HostData, SharedBytes};
use crate::{DType, Device, Layout, Shape, Tensor};

/// Together from this size on elements are read by several threads: fresh memory costs the system more
/// than the bytes.
const LARGE: usize = 1 << 26;

/// What a thread reads at a time.
pub(super) const PART: usize = 1 << 23;

/// How much of a file tells its format: the first entry of an archive, with a name of any length.
const START: u64 = 1 << 17;

/// A tensor as a file describes it: dtype, shape, and the bytes that hold its elements.
pub(super) struct Described {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) range: Range<usize>,
}

/// A regular file. What is parsed of it is a copy, so that it stays as it was checked.
pub(super) struct Opened {
    file: File,
    length: usize,
    start: Vec<u8>,
    /// The content in place, if the caller has promised that it stays as it is.
    mapped: Option<SharedBytes>,
}

impl Opened {
    pub(super) fn open(path: &Path, promise: Option<Promise>) -> io::Result<Self> {
        let (file, length) = regular::open(path)?;
        let length = usize::try_from(length).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let mapped = match promise {
            // The system maps no empty files.
            Some(promise) if length > 0 => Some(mapping::map(&file, promise)?),
            _ => None,
        };
        let mut opened = Self {
            file,
            length,
            start: Vec::new(),
            mapped: mapped.map(SharedBytes::new),
        };
        opened.start = opened.read(0..length.min(START as usize))?;
        Ok(opened)
    }

    /// The number of bytes when it was opened.
    pub(super) fn length(&self) -> usize {
        self.length
    }

    /// The first bytes, by which the format is told.
    pub(super) fn start(&self) -> &[u8] {
        &self.start
    }

    /// A copy of a part, which must lie inside.
    pub(super) fn read(&self, range: Range<usize>) -> io::Result<Vec<u8>> {
        let size = range.len();
        let too_large = |_| io::Error::from(io::ErrorKind::OutOfMemory);
        // Small reads need not ask first.
        if size > PART {
            let mut room = Vec::<u8>::new();
            room.try_reserve_exact(size).map_err(too_large)?;
            // Without this the compiler may leave the question out.
            std::hint::black_box(room.as_mut_ptr());
        }
        // These zeros are not written: the thread that reads a part is the first to touch it.
        let mut bytes = vec![0; size];
        read_into(&self.file, vec![(range.start, &mut bytes)])?;
        Ok(bytes)
    }

    /// The whole content, in memory of its own.
    pub(super) fn whole(mut self) -> io::Result<Vec<u8>> {
        let start = std::mem::take(&mut self.start);
        if start.len() == self.length {
            return Ok(start);
        }
        drop(start);
        self.read(0..self.length)
    }

    /// The tensors that lie in the file, all of whose parts are apart: read straight into their memory,
    /// or borrowing from the mapping.
    pub(super) fn tensors(&self, described: &[Described]) -> Result<Vec<Tensor>, Problem> {
        for Described {
            dtype,
            shape,
            range,
        } in described
        {
            check_size(*dtype, shape, range, self.length)?;
        }
        if let Some(mapped) = &self.mapped {
            let source = Source::of(mapped.clone());
            let tensor = |d: &Described| source.tensor(d.dtype, &d.shape, d.range.clone());
            return Ok(described.iter().map(tensor).collect::<Result<_, _>>()?);
        }
        let mut held = Vec::with_capacity(described.len());
        for Described { dtype, range, .. } in described {
            held.push(Held::new(*dtype, range.len())?);
        }
        let places = described.iter().map(|d| d.range.start);
        let parts = places.zip(held.iter_mut().map(Held::bytes_mut));
        read_into(&self.file, parts.collect())?;
        let upload = |(held, described): (Held, &Described)| {
            let storage = Device::cpu().backend().upload(held.elements());
            let storage = storage.map_err(|e| e.to_string())?;
            let shape = Shape::from(described.shape.as_slice());
            Ok(Tensor::from_storage(storage, Layout::contiguous(shape)))
        };
        held.into_iter().zip(described).map(upload).collect()
    }
}

/// Memory for the elements of a tensor, into which they are read.
enum Held {
    /// They lie in the file as in memory.
    Elements(HostData),
    /// They are made of these bytes.
    Bytes(DType, Vec<u8>),
}

impl Held {
    fn new(dtype: DType, size: usize) -> Result<Self, String> {
        let fits = HostData::from_le_bytes(dtype, &[]).le_bytes_mut().is_some();
        let (dtype_read, len) = match fits {
            true => (dtype, size / dtype.size_in_bytes()),
            false => (DType::U8, size),
        };
        match HostData::to_be_written(dtype_read, len).map_err(|e| e.to_string())? {
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

    fn elements(self) -> HostData {
        match self {
            Self::Elements(data) => data,
            Self::Bytes(dtype, bytes) => HostData::from_le_bytes(dtype, &bytes),
        }
    }
}

/// Fills each part with the bytes of the file from a place on.
pub(super) fn read_into(file: &File, parts: Vec<(usize, &mut [u8])>) -> io::Result<()> {
    let total: usize = parts.iter().map(|(_, part)| part.len()).sum();
    let read = match cfg!(unix) && total >= LARGE {
        true => read_together(file, parts),
        false => parts
            .into_iter()
            .try_for_each(|(place, part)| read_at(file, part, place as u64)),
    };
    read.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "it became shorter while it was read")
        }
        _ => error,
    })
}

/// [`read_into`] by several threads, each of which takes the next few megabytes.
pub(super) fn read_together(file: &File, parts: Vec<(usize, &mut [u8])>) -> io::Result<()> {
    use std::sync::{Mutex, PoisonError};
    use std::thread;

    let pieces = parts.into_iter().flat_map(|(place, part)| {
        let pieces = part.chunks_mut(PART).enumerate();
        pieces.map(move |(i, piece)| (place + i * PART, piece))
    });
    let pieces: Vec<_> = pieces.collect();
    let pieces = Mutex::new(pieces.into_iter());
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((place, piece)) = next() {
            read_at(file, piece, place as u64)?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(4));
    thread::scope(|scope| {
        // Fewer, if the system gives no more.
        let others = (1..threads).map_while(|_| {
            let thread = thread::Builder::new();
            thread.spawn_scoped(scope, work).ok()
        });
        let others: Vec<_> = others.collect();
        let mut read = work();
        for other in others {
            let failed = |_| Err(io::Error::other("a thread that read the file panicked"));
            read = read.and(other.join().unwrap_or_else(failed));
        }
        read
    })
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], place: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place)
}

/// By the handle's own place in the file, so that only one thread reads.
#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8], place: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};

    file.seek(SeekFrom::Start(place))?;
    file.read_exact(bytes)
}
