//! State dicts in memory, and in the readers and writers of others.

use std::io::{Read, Seek, Write};
use std::path::Path;

use super::format_error::damaged;
use super::formats::read_by_format;
use super::output::{BYTES, Output, READER, WRITER, file_error};
use super::{CheckpointReader, ReadOptions, safetensors};
use crate::backend::SharedBytes;
use crate::{Result, StateDict};

impl StateDict {
    /// The bytes of the safetensors file that [`write_to`](Self::write_to) writes.
    ///
    /// # Errors
    ///
    /// A key or a dtype that the format does not have.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let state = StateDict::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]);
    /// let state = StateDict::from_bytes(state.to_bytes()?)?;
    /// assert_eq!(state.get("weight").unwrap().to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        write(self, Path::new(BYTES), &mut bytes)?;
        Ok(bytes)
    }

    /// Writes a safetensors file to a writer. Tied tensors are written once; the metadata names the others.
    ///
    /// To write a file, prefer `save`, which never leaves a partial file.
    ///
    /// # Errors
    ///
    /// Those of the writer; a key or a dtype that the format does not have.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        write(self, Path::new(WRITER), writer)
    }

    /// Reads a checkpoint in memory, in any format that files may have except an index of shards.
    ///
    /// Where elements are stored as in memory, tensors borrow from the bytes, which are kept as long as one of these
    /// tensors exists. For a slice with a shorter lifetime, pass `bytes.to_vec()`.
    ///
    /// # Errors
    ///
    /// Content that is damaged or in no known format.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::StateDict;
    ///
    /// let error = StateDict::from_bytes(b"<!DOCTYPE html><html></html>").unwrap_err();
    /// assert!(error.to_string().contains("<bytes>: not a valid checkpoint file: it is an HTML page"));
    /// ```
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self> {
        Self::from_bytes_with(bytes, &ReadOptions::new())
    }

    /// [`from_bytes`](Self::from_bytes) with options.
    ///
    /// # Errors
    ///
    /// Those of [`from_bytes`](Self::from_bytes), and an entry that the checkpoint does not have.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::checkpoint::TorchObject;
    /// use module_core::{ReadOptions, StateDict, Tensor};
    ///
    /// let weights = TorchObject::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]);
    /// let saved = TorchObject::from_iter([("model", weights), ("epoch", 3.into())]);
    /// let state = StateDict::from_bytes_with(saved.to_bytes()?, &ReadOptions::new().entry("model"))?;
    /// assert_eq!(state.keys().collect::<Vec<_>>(), ["weight"]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn from_bytes_with(
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        options: &ReadOptions,
    ) -> Result<Self> {
        let path = Path::new(BYTES);
        let reader = CheckpointReader::of_bytes(SharedBytes::new(bytes));
        read(
            path,
            reader.map_err(|error| file_error(path, error))?,
            options,
        )
    }

    /// Reads a checkpoint from a reader: all of it, whatever its current position. Tensors are copies.
    ///
    /// # Errors
    ///
    /// Those of the reader; content that is damaged or in no known format.
    ///
    /// # Example
    ///
    /// ```
    /// use std::io::Cursor;
    ///
    /// use module_core::{StateDict, Tensor};
    ///
    /// let mut file = Cursor::new(Vec::new());
    /// StateDict::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]).write_to(&mut file)?;
    /// assert_eq!(StateDict::from_reader(file)?.len(), 1);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn from_reader(reader: impl Read + Seek) -> Result<Self> {
        Self::from_reader_with(reader, &ReadOptions::new())
    }

    /// [`from_reader`](Self::from_reader) with options.
    ///
    /// # Errors
    ///
    /// Those of [`from_reader`](Self::from_reader), and an entry that the checkpoint does not have.
    ///
    /// # Example
    ///
    /// ```
    /// use std::io::Cursor;
    ///
    /// use module_core::checkpoint::TorchObject;
    /// use module_core::{ReadOptions, StateDict, Tensor};
    ///
    /// let weights = TorchObject::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]);
    /// let file = Cursor::new(TorchObject::from_iter([("ema", weights)]).to_bytes()?);
    /// let state = StateDict::from_reader_with(file, &ReadOptions::new().entry("ema"))?;
    /// assert_eq!(state.len(), 1);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn from_reader_with(reader: impl Read + Seek, options: &ReadOptions) -> Result<Self> {
        let path = Path::new(READER);
        let reader = CheckpointReader::of_reader(reader);
        read(
            path,
            reader.map_err(|error| file_error(path, error))?,
            options,
        )
    }
}

fn write(state: &StateDict, path: &Path, writer: impl Write) -> Result<()> {
    let mut output = Output::new(path, writer);
    safetensors::write(state, &mut output)?;
    output.flush()
}

/// Reads one checkpoint; an index would refer to other files, and there is no directory to find them in.
pub(super) fn read(
    path: &Path,
    reader: CheckpointReader<'_>,
    options: &ReadOptions,
) -> Result<StateDict> {
    if is_index(reader.start()) {
        let problem = "it is an index of shards, which are found by its path; load the file itself";
        return Err(damaged(path, "checkpoint", problem.to_owned()));
    }
    read_by_format(path, reader, options)
}

/// Whether a checkpoint is JSON text, which unlike the other formats has no zero byte near its start.
pub(super) fn is_index(start: &[u8]) -> bool {
    let first = start.trim_ascii_start().first();
    first == Some(&b'{') && !start.iter().take(8).any(|&byte| byte == 0)
}
