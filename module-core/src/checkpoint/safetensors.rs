//! The safetensors format.

use std::borrow::Cow;
use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, SafeTensors, View};

use super::{Format, Source};
use crate::{DType, Result, StateDict, Tensor};

pub(super) struct Safetensors;

impl Format for Safetensors {
    fn name(&self) -> &'static str {
        "safetensors"
    }

    fn matches(&self, start: &[u8]) -> bool {
        // Eight bytes of header length, then a JSON object.
        start.get(8) == Some(&b'{')
    }

    fn read(&self, source: &Source, entry: Option<&str>) -> Result<StateDict, String> {
        if let Some(entry) = entry {
            return Err(format!(
                "there is no entry `{entry}`: the tensors of this format lie flat"
            ));
        }
        let (header, metadata) =
            SafeTensors::read_metadata(source.bytes()).map_err(|e| e.to_string())?;
        // Eight bytes of length, the header, the tensors.
        let start = 8 + header;
        let mut state = StateDict::new();
        for key in metadata.offset_keys() {
            let info = metadata
                .info(&key)
                .ok_or("a tensor without a description")?;
            let dtype = from_file(info.dtype)
                .ok_or_else(|| format!("dtype {} of `{key}` is not served", info.dtype))?;
            let (first, last) = info.data_offsets;
            let tensor = source.tensor(dtype, &info.shape, start + first..start + last)?;
            state.insert(key, tensor);
        }
        // Tied tensors stand once; the metadata maps each other name to the one that stands.
        let mut ties: Vec<_> = metadata.metadata().iter().flatten().collect();
        ties.sort();
        for (dropped, kept) in ties {
            if let (None, Some(tensor)) = (state.get(dropped), state.get(kept)) {
                let tensor = tensor.clone();
                state.insert(dropped.clone(), tensor);
            }
        }
        Ok(state)
    }

    fn write(&self, state: &StateDict) -> Result<Result<Vec<u8>, String>> {
        let format = [("format".to_owned(), "pt".to_owned())];
        let mut metadata = BTreeMap::from(format.clone());
        let mut entries: Vec<(&str, Entry)> = Vec::new();
        let mut written: Vec<(&str, &Tensor)> = Vec::new();
        for (key, tensor) in state.iter() {
            let same = |other: &Tensor| {
                tensor.shares_memory_with(other) && tensor.layout() == other.layout()
            };
            // Tensors without elements share nothing that could be lost.
            let tie = written
                .iter()
                .find(|(_, other)| tensor.numel() > 0 && same(other));
            match tie {
                Some((kept, _)) => {
                    metadata.insert(key.to_owned(), (*kept).to_owned());
                }
                None => {
                    written.push((key, tensor));
                    entries.push((key, Entry::new(tensor)?));
                }
            }
        }
        let bytes = safetensors::serialize(entries, Some(format.into()));
        Ok(bytes
            .map_err(|e| e.to_string())
            .and_then(|bytes| with_metadata(bytes, &metadata)))
    }
}

/// A file that was written without ties, with the metadata that names them.
///
/// The library writes the entries of a hash map in any order, and equal models must give equal
/// files; so the metadata is put into the header here, sorted.
fn with_metadata(bytes: Vec<u8>, metadata: &BTreeMap<String, String>) -> Result<Vec<u8>, String> {
    const PLAIN: &[u8] = br#"{"__metadata__":{"format":"pt"}"#;
    if metadata.len() == 1 {
        return Ok(bytes);
    }
    let parts = bytes.split_first_chunk().and_then(|(length, rest)| {
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (header, data) = rest.split_at_checked(length)?;
        Some((header.strip_prefix(PLAIN)?.trim_ascii_end(), data))
    });
    let (tensors, data) = parts.ok_or("the writer laid out the header in another way")?;
    let metadata = serde_json::to_vec(metadata).map_err(|e| e.to_string())?;
    let mut header = [br#"{"__metadata__":"#, &*metadata, tensors].concat();
    // The tensors start at a multiple of eight, as the library has it.
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = (header.len() as u64).to_le_bytes();
    Ok([&length, &*header, data].concat())
}

/// A tensor as the writer wants it.
struct Entry {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Entry {
    fn new(tensor: &Tensor) -> Result<Self> {
        let bytes = tensor.to_host()?.to_le_bytes();
        Ok(Self {
            dtype: to_file(tensor.dtype()),
            shape: tensor.shape().to_vec(),
            bytes,
        })
    }
}

impl View for Entry {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        self.bytes.as_slice().into()
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

fn to_file(dtype: DType) -> Dtype {
    match dtype {
        DType::F32 => Dtype::F32,
        DType::F64 => Dtype::F64,
        DType::F16 => Dtype::F16,
        DType::BF16 => Dtype::BF16,
        DType::I64 => Dtype::I64,
        DType::I32 => Dtype::I32,
        DType::U8 => Dtype::U8,
        DType::Bool => Dtype::BOOL,
    }
}

fn from_file(dtype: Dtype) -> Option<DType> {
    DType::ALL.into_iter().find(|&ours| to_file(ours) == dtype)
}
