//! The output that formats write to.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::{Error, FileError, Result, Tensor};

/// The names of bytes, a reader and a writer in errors, where files have a path.
pub(super) const BYTES: &str = "<bytes>";
pub(super) const READER: &str = "<reader>";
pub(super) const WRITER: &str = "<writer>";

/// A file that is being written; errors name it.
pub(super) struct Output<'a> {
    path: &'a Path,
    // Parts as large as the buffer bypass it.
    file: BufWriter<Box<dyn Write + 'a>>,
}

impl<'a> Output<'a> {
    pub(super) fn new(path: &'a Path, file: impl Write + 'a) -> Self {
        let file = BufWriter::with_capacity(1 << 16, Box::new(file) as Box<dyn Write>);
        Self { path, file }
    }

    /// The error for the file that is being written.
    pub(super) fn error(&self, source: io::Error) -> Error {
        file_error(self.path, source)
    }

    /// The underlying writer.
    #[cfg(feature = "torch-files")]
    pub(super) fn writer(&mut self) -> &mut impl Write {
        &mut self.file
    }

    /// The file that errors name.
    #[cfg(feature = "torch-files")]
    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| self.error(error))
    }

    /// Writes the elements of a tensor in row-major order, little-endian: straight from memory if they are stored that way,
    /// otherwise in parts that are small compared with a model.
    pub(super) fn tensor(&mut self, tensor: &Tensor) -> Result<()> {
        const PART: usize = 1 << 20;
        if let Some(bytes) = tensor.as_le_bytes() {
            return self.bytes(bytes);
        }
        let size = tensor.numel() * tensor.dtype().size_in_bytes();
        let rows = match tensor.shape().first() {
            Some(&rows) if size > PART => rows,
            _ => return self.bytes(&tensor.to_host()?.to_le_bytes()),
        };
        let many = (PART / (size / rows).max(1)).max(1);
        for start in (0..rows).step_by(many) {
            let part = tensor.narrow(0, start..(start + many).min(rows))?;
            // One row may still be large.
            self.tensor(&if many == 1 { part.squeeze(0)? } else { part })?;
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<()> {
        let flushed = self.file.flush();
        flushed.map_err(|error| self.error(error))
    }
}

pub(super) fn file_error(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    FileError::File { path, source }.into()
}
