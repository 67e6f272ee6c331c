//! GGUF, the format of llama.cpp: metadata, and tensors whose elements may be packed in blocks.

mod cursor;
mod element_type;
mod header;
mod value;
mod write;

#[cfg(feature = "fs")]
use std::path::Path;

use indexmap::IndexMap;

pub use element_type::GgufType;
use header::{Described, Header, MAGIC};
pub use value::{GgufArray, GgufValue};

use super::{CheckpointReader, Format, FormatError, ReadOptions, TensorPlace};
use crate::backend::SharedBytes;
use crate::{DType, Error, Result, Select, StateDict, Tensor};

/// The name of the format in errors.
const NAME: &str = "GGUF";

pub(super) struct GgufFormat;

impl Format for GgufFormat {
    fn name(&self) -> &'static str {
        NAME
    }

    fn matches(&self, start: &[u8]) -> bool {
        start.starts_with(&MAGIC)
    }

    fn read(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError> {
        Ok(Gguf::read(&file, options)?.tensors)
    }
}

/// A GGUF file: its metadata and its tensors.
///
/// Tensors with block-quantized elements stay packed ([`Tensor::is_packed`]), as `f32`; [`Tensor::unpack`] gives the
/// values. A shape is PyTorch's, in which the last dimension is a row: the file has its sizes in reverse.
/// [`StateDict::load`] reads only the tensors, and `load` of a module accepts them under the names that a
/// [`Remap`](crate::Remap) gives them.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::Gguf;
/// use module_core::{BlockFormat, DType, StateDict, Tensor};
///
/// let weight = Tensor::full([2, 32], 127.0, DType::F32)?;
/// let mut file = Gguf::new(StateDict::from_iter([("blk.0.attn_q.weight", weight)]));
/// file.metadata.insert("general.architecture".to_owned(), "llama".into());
/// file.convert("**.weight", BlockFormat::Q8_0)?;
///
/// let file = Gguf::from_bytes(file.to_bytes()?)?;
/// assert_eq!(file.metadata["general.architecture"].as_str(), Some("llama"));
/// let weight = file.tensors.get("blk.0.attn_q.weight").unwrap();
/// assert_eq!((weight.is_packed(), weight.nbytes()), (true, 68));
/// assert_eq!(weight.unpack()?.amax(..)?.item::<f32>()?, 127.0);
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Gguf {
    /// The file's entries about the model, its tokens and itself, in order.
    pub metadata: IndexMap<String, GgufValue>,
    /// The tensors by name, in order.
    pub tensors: StateDict,
}

impl Gguf {
    /// These tensors, without metadata.
    pub fn new(tensors: StateDict) -> Self {
        let metadata = IndexMap::new();
        Self { metadata, tensors }
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`FileError`](crate::FileError): a file that cannot be read, is damaged or not GGUF; versions other than 2 and 3,
    /// and big-endian files; element types other than those of [`GgufType`].
    #[cfg(feature = "fs")]
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, &ReadOptions::new())
    }

    /// [`open`](Self::open) with options, such as [`mapped`](ReadOptions::mapped).
    ///
    /// # Errors
    ///
    /// Those of [`open`](Self::open).
    #[cfg(feature = "fs")]
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        let file = super::open::open(path, options)?;
        Self::read(&file, options).map_err(|problem| problem.in_file(path, NAME))
    }

    /// Reads a file in memory. Tensors borrow from the bytes.
    ///
    /// # Errors
    ///
    /// Those of `open`.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self> {
        let file = CheckpointReader::of_bytes(SharedBytes::new(bytes)).map_err(FormatError::Io);
        let read = file.and_then(|file| Self::read(&file, &ReadOptions::new()));
        read.map_err(|problem| problem.in_file(super::output::BYTES.as_ref(), NAME))
    }

    fn read(file: &CheckpointReader<'_>, options: &ReadOptions) -> Result<Self, FormatError> {
        options.refuse_entry()?;
        let Header { metadata, tensors } = Header::read(file)?;
        let place = |tensor: &Described| {
            let range = tensor.start..tensor.start + tensor.size;
            match tensor.kind {
                GgufType::Plain(dtype) => TensorPlace::new(dtype, tensor.shape.clone(), range),
                GgufType::Blocks(_) => TensorPlace::new(DType::U8, [tensor.size], range),
            }
        };
        let places: Vec<TensorPlace> = tensors.iter().map(place).collect();
        let read = file.tensors(&places)?;
        let mut state = StateDict::with_capacity(tensors.len());
        for (described, read) in tensors.into_iter().zip(read) {
            let tensor = match described.kind {
                GgufType::Plain(_) => read,
                GgufType::Blocks(format) => {
                    let packed = format.tensor(SharedBytes::new(Held(read)), described.shape);
                    packed.map_err(|error| error.to_string())?
                }
            };
            state.insert(described.name, tensor);
        }
        Ok(Self {
            metadata,
            tensors: state,
        })
    }

    /// Converts selected tensors to a type, packing and unpacking them as needed.
    ///
    /// # Errors
    ///
    /// A selection that matches nothing; a type that files do not have; a row that is not a multiple of a block; values
    /// that are not finite. Then no tensor has changed.
    pub fn convert(&mut self, select: impl Into<Select>, to: impl Into<GgufType>) -> Result<()> {
        self.convert_selected(&select.into(), to.into())
    }

    fn convert_selected(&mut self, select: &Select, to: GgufType) -> Result<()> {
        if to.number().is_none() {
            let problem = "the format has no such type; use one that `GgufType` lists";
            return Err(Error::argument("convert", "to", to, problem));
        }
        let mut converted = Vec::new();
        for key in select.resolve(self.tensors.keys())? {
            let Some(tensor) = self.tensors.get(key) else {
                continue;
            };
            if GgufType::of(tensor) == Some(to) {
                continue;
            }
            let plain = tensor.unpack()?;
            let tensor = match to {
                GgufType::Plain(dtype) => plain.to_dtype(dtype)?,
                GgufType::Blocks(format) => format.quantize(&plain)?,
            };
            converted.push((key.to_owned(), tensor));
        }
        for (key, tensor) in converted {
            self.tensors.insert(key, tensor);
        }
        Ok(())
    }
}

/// The bytes of a tensor of bytes in row-major order.
struct Held(Tensor);

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self.0.as_le_bytes().unwrap_or_default()
    }
}
