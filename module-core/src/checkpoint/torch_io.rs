//! PyTorch objects in files, in memory, and in the readers and writers of others.

use std::io::{Read, Seek, Write};
use std::path::Path;

use super::output::{Output, file_error};
use super::torch_file::TorchFile;
use super::torch_legacy::TorchLegacy;
use super::torch_zip::TorchZip;
use super::{CheckpointReader, ReadOptions, TorchObject, foreign, torch_write};
#[cfg(feature = "fs")]
use super::{atomic, open::open};
use crate::backend::SharedBytes;
use crate::{Result, error::FileError};

/// The known layouts.
static LAYOUTS: [&dyn TorchFile; 2] = [&TorchZip, &TorchLegacy];

impl TorchObject {
    /// Reads a `torch.save` file.
    ///
    /// Nothing in it is executed: anything other than tensors, numbers, strings, dicts, lists and tuples becomes
    /// [`Other`](Self::Other).
    ///
    /// # Errors
    ///
    /// A file that cannot be read, is damaged, or was not written by `torch.save`.
    #[cfg(feature = "fs")]
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(path, &ReadOptions::new())
    }

    /// [`load`](Self::load) with options: with an [entry](ReadOptions::entry), only that part of a dict is read.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load), and an entry that the file does not have.
    #[cfg(feature = "fs")]
    pub fn load_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        let path = path.as_ref();
        read(path, open(path, options)?, options)
    }

    /// Reads the bytes of a `torch.save` file; tensors share memory with them where possible.
    ///
    /// # Errors
    ///
    /// Bytes that are damaged or were not written by `torch.save`; an entry that they do not have.
    pub fn from_bytes(bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self> {
        Self::from_bytes_with(bytes, &ReadOptions::new())
    }

    /// [`from_bytes`](Self::from_bytes) with options.
    ///
    /// # Errors
    ///
    /// Those of [`from_bytes`](Self::from_bytes), and an entry that does not exist.
    pub fn from_bytes_with(
        bytes: impl AsRef<[u8]> + Send + Sync + 'static,
        options: &ReadOptions,
    ) -> Result<Self> {
        let path = Path::new("<bytes>");
        let reader = CheckpointReader::of_bytes(SharedBytes::new(bytes));
        read(
            path,
            reader.map_err(|error| file_error(path, error))?,
            options,
        )
    }

    /// Reads a `torch.save` file from a reader: all of it, whatever its current position.
    ///
    /// # Errors
    ///
    /// Those of the reader, and as [`from_bytes_with`](Self::from_bytes_with).
    pub fn from_reader(reader: impl Read + Seek, options: &ReadOptions) -> Result<Self> {
        let path = Path::new("<reader>");
        let reader = CheckpointReader::of_reader(reader);
        read(
            path,
            reader.map_err(|error| file_error(path, error))?,
            options,
        )
    }

    /// Writes a file that `torch.load` reads, also with `weights_only=True`. It replaces an existing file as a whole, like
    /// [`StateDict::save`](crate::StateDict::save).
    ///
    /// A tensor that occurs several times is written once, and is one tensor again when it is read; different views of one
    /// tensor are written separately.
    ///
    /// # Errors
    ///
    /// [`Other`](Self::Other), keys that Python dicts cannot have, and those of the operating system; then the old file is
    /// unchanged.
    #[cfg(feature = "fs")]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let at = |error| file_error(path.as_ref(), error);
        let path = atomic::follow_links(path.as_ref()).map_err(at)?;
        atomic::remove_stale_temporaries(atomic::directory_of(&path).map_err(at)?);
        atomic::write(&path, |output| torch_write::write(self, output))
    }

    /// The bytes of the file that [`write_to`](Self::write_to) writes.
    ///
    /// # Errors
    ///
    /// [`Other`](Self::Other), and keys that Python dicts cannot have.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.write_to(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a file that `torch.load` reads to a writer.
    ///
    /// # Errors
    ///
    /// Those of [`to_bytes`](Self::to_bytes), and those of the writer.
    pub fn write_to(&self, writer: impl Write) -> Result<()> {
        let mut output = Output::new(Path::new("<writer>"), writer);
        torch_write::write(self, &mut output)?;
        output.flush()
    }
}

fn read(path: &Path, reader: CheckpointReader<'_>, options: &ReadOptions) -> Result<TorchObject> {
    let layout = LAYOUTS.iter().find(|layout| layout.matches(reader.start()));
    let Some(layout) = layout else {
        let what = foreign::describe(reader.start());
        let what = what.map(|what| format!(": {what}")).unwrap_or_default();
        return Err(FileError::Format {
            path: path.to_owned(),
            format: "PyTorch",
            problem: format!("`torch.save` did not write it{what}"),
        }
        .into());
    };
    let object = layout.read_object(reader, options);
    object.map_err(|problem| problem.in_file(path, layout.name()))
}
