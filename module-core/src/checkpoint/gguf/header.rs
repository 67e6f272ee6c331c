//! Everything before the elements: the version, the metadata, the descriptions of the tensors.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::cursor::{Cursor, Stop};
use super::element_type::GgufType;
use super::value::GgufValue;
use crate::checkpoint::words::shorten;
use crate::checkpoint::{CheckpointReader, FormatError};

/// The first bytes of a file.
pub(super) const MAGIC: [u8; 4] = *b"GGUF";
/// The metadata key for the alignment of tensors.
pub(super) const ALIGNMENT: &str = "general.alignment";
const DEFAULT_ALIGNMENT: usize = 32;
/// ggml's limit on the dimensions of a tensor.
pub(super) const MAX_DIMS: usize = 4;

/// The header of a file.
pub(super) struct Header {
    pub(super) metadata: IndexMap<String, GgufValue>,
    /// In the order of the file.
    pub(super) tensors: Vec<Described>,
}

/// A tensor of a file.
pub(super) struct Described {
    pub(super) name: String,
    /// Its sizes; the last one is the row length.
    pub(super) shape: Vec<usize>,
    pub(super) kind: GgufType,
    /// Its start, first relative to the end of the header, then in the file.
    pub(super) start: usize,
    pub(super) size: usize,
}

impl Header {
    /// Reads as much of a file as the header takes.
    pub(super) fn read(file: &CheckpointReader<'_>) -> Result<Self, FormatError> {
        let length = file.length();
        let mut parsed = Self::parse(file.start(), length);
        let mut read = file.start().len();
        loop {
            match parsed {
                Ok(header) => return Ok(header),
                Err(Stop::Problem(problem)) => return Err(problem),
                Err(Stop::More) => {
                    read = read.saturating_mul(4).min(length);
                    parsed = Self::parse(&file.read(0..read)?, length);
                }
            }
        }
    }

    fn parse(bytes: &[u8], length: usize) -> Result<Self, Stop> {
        let mut cursor = Cursor::new(bytes, length);
        if cursor.u32()?.to_le_bytes() != MAGIC {
            return Err("it does not begin with `GGUF`".into());
        }
        check_version(cursor.u32()?)?;
        // A name, dimensions, a type and an offset; a name, a type and a value.
        let tensor_count = cursor.count("tensors", 24)?;
        let metadata_count = cursor.count("entries of metadata", 13)?;
        let mut metadata = IndexMap::new();
        for _ in 0..metadata_count {
            let key = cursor.text("the key")?;
            let kind = cursor.u32()?;
            let value = cursor.value(kind).map_err(|stop| match stop {
                Stop::More => Stop::More,
                Stop::Problem(problem) => Stop::Problem(problem.in_part(&shorten(&key))),
            })?;
            if metadata.contains_key(&key) {
                return Err(twice("key of the metadata", &key));
            }
            metadata.insert(key, value);
        }
        let alignment = alignment(&metadata)?;
        let mut tensors = cursor.many(tensor_count, describe)?;
        let mut names = HashSet::new();
        if let Some(other) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
            return Err(twice("name of a tensor", &other.name));
        }
        place(&mut tensors, cursor.place(), alignment, length)?;
        Ok(Self { metadata, tensors })
    }
}

fn check_version(version: u32) -> Result<(), FormatError> {
    match version {
        2 | 3 => Ok(()),
        _ if matches!(version.swap_bytes(), 1..=3) => Err(FormatError::Unsupported(
            "it is big-endian; convert it by `gguf-convert-endian FILE little` of the package gguf"
                .to_owned(),
        )),
        _ => Err(FormatError::Unsupported(format!(
            "its version is {version}, but 2 and 3 are read; write it again with a current llama.cpp"
        ))),
    }
}

fn twice(what: &str, name: &str) -> Stop {
    format!("the {what} `{}` occurs twice", shorten(name)).into()
}

/// The alignment of all tensors.
pub(super) fn alignment(metadata: &IndexMap<String, GgufValue>) -> Result<usize, String> {
    match metadata.get(ALIGNMENT) {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(&GgufValue::U32(alignment)) if alignment.is_power_of_two() => Ok(alignment as usize),
        Some(other) => Err(format!(
            "`{ALIGNMENT}` is {}, and not a power of two of the type u32",
            shorten(&format!("{other:?}"))
        )),
    }
}

fn describe(cursor: &mut Cursor<'_>) -> Result<Described, Stop> {
    let name = cursor.text("the name")?;
    let rank = cursor.u32()?;
    if rank as usize > MAX_DIMS {
        let name = shorten(&name);
        return Err(format!("`{name}` has {rank} dimensions, and not at most {MAX_DIMS}").into());
    }
    let sizes = cursor.many(rank as usize, Cursor::u64)?;
    let (kind, start) = (cursor.u32()?, cursor.u64()?);
    let described = || {
        let kind = GgufType::from_number(kind).map_err(FormatError::Unsupported)?;
        let too_large = || format!("its sizes {sizes:?} and its offset {start} are too large");
        let start = usize::try_from(start).map_err(|_| too_large())?;
        let size = |size: &u64| usize::try_from(*size).map_err(|_| too_large());
        let shape: Vec<usize> = sizes.iter().rev().map(size).collect::<Result<_, _>>()?;
        let (elements, bytes) = kind.block();
        let row = shape.last().copied().unwrap_or(1);
        if !row.is_multiple_of(elements) {
            return Err(FormatError::Damaged(format!(
                "its rows of {row} elements are not whole blocks of {elements}, as {kind} has them"
            )));
        }
        // The unpacked size must be countable too, even if other sizes are 0.
        let mut sizes = shape.iter().filter(|size| **size > 0);
        let numel = sizes.try_fold(1_usize, |numel, size| numel.checked_mul(*size));
        let numel = numel
            .filter(|numel| numel.checked_mul(8).is_some())
            .ok_or_else(too_large)?;
        let size = match shape.contains(&0) {
            true => 0,
            false => numel / elements * bytes,
        };
        Ok((shape, kind, start, size))
    };
    let (shape, kind, start, size) =
        described().map_err(|e: FormatError| e.in_part(&shorten(&name)))?;
    Ok(Described {
        name,
        shape,
        kind,
        start,
        size,
    })
}

/// Computes where tensors begin in a file whose header ends at a given position: each follows the previous one, at the next
/// multiple of the alignment, in whichever order they are described, and only padding follows the last one.
fn place(
    tensors: &mut [Described],
    end: usize,
    alignment: usize,
    length: usize,
) -> Result<(), String> {
    let aligned = |place: usize| {
        place
            .checked_next_multiple_of(alignment)
            .unwrap_or(usize::MAX)
    };
    let mut order: Vec<&mut Described> = tensors.iter_mut().collect();
    order.sort_by_key(|tensor| (tensor.start, tensor.size));
    let first = aligned(end);
    let (mut next, mut last) = (0_usize, end);
    for tensor in order {
        let (name, start) = (shorten(&tensor.name), tensor.start);
        if start != next {
            return Err(format!(
                "`{name}` begins at {start} after the header, and not at {next}, where the one before it ends"
            ));
        }
        if tensor.size == 0 {
            // It may be past the end, which has no padding.
            tensor.start = first.saturating_add(start).min(length);
            continue;
        }
        let place = first.checked_add(start);
        let stop = place.and_then(|place| place.checked_add(tensor.size));
        let (Some(place), Some(stop)) = (place, stop.filter(|stop| *stop <= length)) else {
            let size = tensor.size;
            return Err(format!(
                "the file ends early (truncated?): `{name}` takes {size} bytes, starting {start} bytes after the header, but the file has {length} in all; download or save it again"
            ));
        };
        (tensor.start, last) = (place, stop);
        next = aligned(start + tensor.size);
    }
    match length > aligned(last) {
        true => Err(format!("{} bytes follow the last tensor", length - last)),
        false => Ok(()),
    }
}
