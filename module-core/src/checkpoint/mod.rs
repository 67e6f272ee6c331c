//! Checkpoints: one file for each format, behind one trait.

#[cfg(feature = "fs")]
mod atomic;
#[cfg(feature = "fs")]
mod background;
mod bytes;
mod contents;
#[cfg(feature = "fs")]
mod directory;
#[cfg(feature = "fs")]
mod file;
mod foreign;
mod format;
mod format_error;
#[cfg(feature = "mmap")]
mod mapping;
#[cfg(feature = "npz")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
mod options;
mod output;
#[cfg(feature = "torch-files")]
mod pickle;
#[cfg(feature = "fs")]
mod read_file;
mod reader;
#[cfg(feature = "fs")]
mod regular;
#[cfg(feature = "fs")]
mod restored;
mod safetensors;
#[cfg(feature = "fs")]
mod sharded;
mod sorted;
mod stateful;
#[cfg(any(feature = "npz", feature = "torch-files"))]
mod swap;
#[cfg(feature = "fs")]
mod temporary;
#[cfg(feature = "torch-files")]
mod torch_legacy;
#[cfg(feature = "torch-files")]
mod torch_zip;
#[cfg(feature = "fs")]
mod training;
mod words;
#[cfg(any(feature = "npz", feature = "torch-files"))]
mod zip;

use std::path::Path;

#[cfg(feature = "fs")]
pub use background::SaveHandle;
pub use contents::Contents;
pub use format::{Format, register_format};
pub use format_error::FormatError;
pub use options::ReadOptions;
pub use reader::{CheckpointReader, TensorPlace};
#[cfg(feature = "fs")]
pub use restored::{ChangedSetting, RestoreReport};
pub use stateful::{Snapshot, Stateful};
#[cfg(feature = "fs")]
pub use training::TrainingCheckpoint;

use crate::{Error, FileError};
#[cfg(feature = "fs")]
use crate::{Result, StateDict};

/// What [`StateDict::load_with`] reads from a file at `path` with this content; for fuzzing.
#[cfg(feature = "fs")]
pub fn read_bytes(path: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<StateDict> {
    if bytes::is_index(&bytes) {
        return sharded::read(path, &bytes, options);
    }
    let reader = CheckpointReader::of_bytes(crate::backend::SharedBytes::new(bytes));
    bytes::read(
        path,
        reader.map_err(|error| output::file_error(path, error))?,
        options,
    )
}

/// The error for a file whose content is not what it should be.
fn damaged(path: &Path, format: &'static str, problem: String) -> Error {
    let path = path.to_owned();
    FileError::Format {
        path,
        format,
        problem,
    }
    .into()
}

#[cfg(all(test, feature = "default"))]
mod tests;
