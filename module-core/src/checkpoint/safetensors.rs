//! The safetensors format: the length of the header, the header as JSON, the elements.

mod header;

use std::cmp::Reverse;
use std::collections::HashMap;

use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use super::output::Output;
use super::words::shorten;
use super::{CheckpointReader, Format, FormatError, ReadOptions, TensorPlace};
use crate::{DType, Error, Result, StateDict, Tensor};
use header::Header;
pub(super) use header::StringMap;
#[cfg(feature = "fs")]
pub(super) use header::{Unique, in_order};

pub(super) struct Safetensors;

impl Format for Safetensors {
    fn name(&self) -> &'static str {
        "safetensors"
    }

    fn matches(&self, start: &[u8]) -> bool {
        // Eight bytes of header length, then a JSON object.
        start.get(8) == Some(&b'{')
    }

    /// The header first, then each tensor at its location.
    fn read(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError> {
        options.refuse_entry()?;
        let length = Header::length(file.start(), file.length())?;
        // The text is dropped before tensors are made.
        let (places, metadata) = describe(&file.read(8..8 + length)?, file.length())?;
        let (keys, places): (Vec<_>, Vec<_>) = places.into_iter().unzip();
        let tensors = file.tensors(&places)?;
        let mut state: StateDict = keys.into_iter().zip(tensors).collect();
        add_ties(&mut state, metadata);
        Ok(state)
    }
}

/// The location of a tensor in a file of this size; a name that was dropped for a tie is found too.
#[cfg(feature = "fs")]
pub(super) fn find(
    file: &std::fs::File,
    length: usize,
    key: &str,
) -> Result<TensorPlace, FormatError> {
    let mut start = vec![0; length.min(8)];
    super::read_file::read_into(file, vec![(0, &mut start)])?;
    let mut text = vec![0; Header::length(&start, length)?];
    super::read_file::read_into(file, vec![(8, &mut text)])?;
    let (mut places, metadata) = describe(&text, length)?;
    let position = |key: &str| places.iter().position(|(other, _)| other == key);
    let kept = || metadata.get(key).and_then(|kept| position(kept));
    match position(key).or_else(kept) {
        Some(found) => Ok(places.swap_remove(found).1),
        None => {
            let mut names = places.iter().map(|(name, _)| shorten(name));
            let first = names.next().unwrap_or_default();
            let (key, count) = (shorten(key), places.len());
            let problem =
                format!("it has no tensor `{key}`; the first of its {count} is `{first}`");
            Err(FormatError::Unsupported(problem))
        }
    }
}

/// Names and locations in the order of the locations.
type NamedPlaces = Vec<(String, TensorPlace)>;

/// The tensors that the header of a file of this size describes.
fn describe(text: &[u8], length: usize) -> Result<(NamedPlaces, StringMap), FormatError> {
    let header = Header::parse(text)?;
    let start = 8 + text.len();
    let mut tensors: Vec<(String, TensorInfo)> = header.tensors.into_iter().collect();
    tensors.sort_by_key(|(_, info)| info.data_offsets);
    // This refuses gaps, overlaps, and sizes that do not follow from shape and dtype.
    let tensors = Metadata::new(None, tensors).map_err(|e| e.to_string())?;
    let (taken, present) = (tensors.data_len(), length - start);
    if taken != present {
        let cut = match taken > present {
            true => "the file ends early (truncated?); download or save it again: ",
            false => "",
        };
        return Err(format!(
            "{cut}{present} bytes follow the header, but its tensors take {taken}"
        )
        .into());
    }
    let mut described = Vec::new();
    for key in tensors.offset_keys() {
        let info = tensors.info(&key).ok_or("a tensor without a description")?;
        let dtype = from_file(info.dtype).ok_or_else(|| {
            let key = shorten(&key);
            FormatError::Unsupported(format!("dtype {} of `{key}` is not supported", info.dtype))
        })?;
        let (first, last) = info.data_offsets;
        let place = TensorPlace::new(dtype, info.shape.clone(), start + first..start + last);
        described.push((key, place));
    }
    Ok((described, header.metadata))
}

/// Adds tied tensors under their other names: they are stored once, and the metadata maps each dropped name to the stored
/// one. Other metadata does not name tensors.
pub(super) fn add_ties(state: &mut StateDict, metadata: StringMap) {
    let mut metadata: Vec<(String, String)> = metadata.into_iter().collect();
    metadata.sort_unstable();
    for (dropped, kept) in metadata {
        if let (None, Some(tensor)) = (state.get(&dropped), state.get(&kept)) {
            let tensor = tensor.clone();
            state.insert(dropped, tensor);
        }
    }
}

/// The entry of the metadata that PyTorch's readers expect.
const FORMAT: (&str, &str) = ("format", "pt");

/// Keys with another meaning in the metadata of a file or an index, which are not ties.
const TAKEN: [&str; 2] = [FORMAT.0, "total_size"];

/// Writes a file of tensors; tied ones are written once.
pub(super) fn write(state: &StateDict, output: &mut Output<'_>) -> Result<()> {
    let state = state.for_files()?;
    let (tensors, ties) = without_ties(&state);
    write_tensors(tensors, ties, output)
}

/// The tensors, each once, and the dropped names with those that represent them.
pub(super) fn without_ties(state: &StateDict) -> (Vec<(&str, &Tensor)>, StringMap) {
    let (mut kept, mut ties) = (Vec::new(), StringMap::new());
    let mut by_memory: HashMap<usize, Vec<(&str, &Tensor)>> = HashMap::new();
    for (key, tensor) in state.iter() {
        let sharing = by_memory.entry(tensor.storage().address()).or_default();
        let same = |(_, other): &&(_, &Tensor)| tensor.layout() == other.layout();
        match sharing.iter().find(same) {
            // Ties of tensors without elements carry no information.
            Some((first, _)) if tensor.numel() > 0 && !TAKEN.contains(&key) => {
                ties.insert(key.to_owned(), (*first).to_owned());
            }
            _ => {
                sharing.push((key, tensor));
                kept.push((key, tensor));
            }
        }
    }
    (kept, ties)
}

/// Writes the header and then the elements: dtypes of large alignment first, then by name.
pub(super) fn write_tensors(
    mut tensors: Vec<(&str, &Tensor)>,
    ties: StringMap,
    output: &mut Output<'_>,
) -> Result<()> {
    tensors.sort_by_key(|(key, tensor)| (Reverse(to_file(tensor.dtype()).ok()), *key));
    let mut header = Header {
        metadata: ties,
        ..Default::default()
    };
    let (name, format) = FORMAT;
    header.metadata.insert(name.to_owned(), format.to_owned());
    let mut end = 0_usize;
    for (key, tensor) in &tensors {
        if *key == header::METADATA {
            let problem = "the format needs this name itself; rename the tensor";
            return Err(Error::argument("save", "key", key, problem));
        }
        let start = end;
        let too_large = || tensor.shape().error("save", "fewer elements in all");
        let size = tensor.numel() * tensor.dtype().size_in_bytes();
        end = end.checked_add(size).ok_or_else(too_large)?;
        let info = TensorInfo {
            dtype: to_file(tensor.dtype())?,
            shape: tensor.shape().to_vec(),
            data_offsets: (start, end),
        };
        header.tensors.insert((*key).to_owned(), info);
    }
    output.bytes(&header.to_bytes().map_err(Error::custom)?)?;
    tensors.into_iter().try_for_each(|(_, x)| output.tensor(x))
}

/// Our dtypes under the names of the format.
const DTYPES: [(DType, Dtype); 15] = [
    (DType::F32, Dtype::F32),
    (DType::F64, Dtype::F64),
    (DType::F16, Dtype::F16),
    (DType::BF16, Dtype::BF16),
    (DType::I64, Dtype::I64),
    (DType::I32, Dtype::I32),
    (DType::U8, Dtype::U8),
    (DType::Bool, Dtype::BOOL),
    (DType::I8, Dtype::I8),
    (DType::I16, Dtype::I16),
    (DType::U16, Dtype::U16),
    (DType::U32, Dtype::U32),
    (DType::F8E4M3, Dtype::F8_E4M3),
    (DType::F8E5M2, Dtype::F8_E5M2),
    (DType::Complex64, Dtype::C64),
];

fn to_file(dtype: DType) -> Result<Dtype> {
    let named = DTYPES.iter().find(|(ours, _)| *ours == dtype);
    named.map(|(_, theirs)| *theirs).ok_or_else(|| {
        let problem = "the safetensors format has no name for it";
        Error::argument("save", "dtype", dtype, problem)
    })
}

fn from_file(dtype: Dtype) -> Option<DType> {
    let named = DTYPES.iter().find(|(_, theirs)| *theirs == dtype);
    named.map(|(ours, _)| *ours)
}
