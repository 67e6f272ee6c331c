//! The safetensors format.

use std::borrow::Cow;
use std::collections::HashMap;

use safetensors::tensor::{Dtype, SafeTensors, View};

use super::Format;
use crate::backend::HostData;
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

    fn read(&self, bytes: &[u8]) -> Result<StateDict, String> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
        let mut state = StateDict::new();
        for key in metadata.offset_keys() {
            let view = file.tensor(&key).map_err(|e| e.to_string())?;
            let dtype = from_file(view.dtype())
                .ok_or_else(|| format!("dtype {} of `{key}` is not served", view.dtype()))?;
            let data = HostData::from_le_bytes(dtype, view.data());
            let tensor = Tensor::from_host(data, view.shape()).map_err(|e| e.to_string())?;
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
        let mut metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
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
        Ok(safetensors::serialize(entries, Some(metadata)).map_err(|e| e.to_string()))
    }
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
