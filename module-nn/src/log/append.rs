//! Files that grow by whole records.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use module_core::checkpoint::open_regular;
use module_core::{FileError, Result};

/// A file that grows. Each record is passed to the operating system in one write, and a record that could not be written
/// completely is removed again.
#[derive(Debug)]
pub(super) struct Append {
    path: PathBuf,
    file: File,
    len: u64,
}

/// The error of a file.
pub(super) fn file_error(path: &Path, source: io::Error) -> FileError {
    let path = path.to_owned();
    FileError::File { path, source }
}

/// The content of a file; nothing if it does not exist.
pub(super) fn read(path: &Path) -> Result<Vec<u8>> {
    let read = || -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        open_regular(path)?.read_to_end(&mut content)?;
        Ok(content)
    };
    match read() {
        Ok(content) => Ok(content),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(file_error(path, error).into()),
    }
}

impl Append {
    /// Creates a file; `None` if it already exists.
    #[cfg(feature = "tensorboard")]
    pub(super) fn create_new(path: &Path) -> Result<Option<Self>> {
        let file = OpenOptions::new().write(true).create_new(true).open(path);
        match file {
            Ok(file) => {
                let path = path.to_owned();
                Ok(Some(Self { path, file, len: 0 }))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(None),
            Err(error) => Err(file_error(path, error).into()),
        }
    }

    /// Continues a file after its first `len` bytes; the rest is removed.
    pub(super) fn open(path: &Path, len: u64) -> Result<Self> {
        let open = || {
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)?;
            file.set_len(len)?;
            file.seek(SeekFrom::Start(len))?;
            Ok(file)
        };
        let file = open().map_err(|error| file_error(path, error))?;
        let path = path.to_owned();
        Ok(Self { path, file, len })
    }

    /// A file with other content, which replaces the old one atomically.
    pub(super) fn replace(path: &Path, content: &[u8]) -> Result<Self> {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.new", std::process::id()));
        let temporary = PathBuf::from(name);
        let write = || {
            let mut file = File::create(&temporary)?;
            file.write_all(content)?;
            file.sync_all()?;
            fs::rename(&temporary, path)
        };
        if let Err(error) = write() {
            let _unfinished = fs::remove_file(&temporary);
            return Err(file_error(path, error).into());
        }
        Self::open(path, content.len() as u64)
    }

    pub(super) fn append(&mut self, record: &[u8]) -> Result<()> {
        if let Err(error) = self.file.write_all(record) {
            // Half a record would spoil those after it.
            let _still_there = self.file.set_len(self.len);
            let _end = self.file.seek(SeekFrom::Start(self.len));
            return Err(file_error(&self.path, error).into());
        }
        self.len += record.len() as u64;
        Ok(())
    }

    pub(super) fn sync(&self) -> Result<()> {
        let synced = self.file.sync_all();
        synced.map_err(|error| file_error(&self.path, error).into())
    }
}
