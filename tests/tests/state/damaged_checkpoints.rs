//! Damaged and malicious checkpoints give errors: no panic, no code execution, and no more memory than a small multiple of
//! the file size.
#![allow(clippy::unwrap_used, clippy::panic)]

mod archive;
mod archives;
mod bytes;
mod opaque;
mod pickles;
mod programs;
mod views;

use std::path::PathBuf;

use module_core::{Error, FileError, ReadOptions, StateDict, Tensor};
use module_tests::memory::height_of;

/// A file that is rewritten for each attempt and removed at the end.
pub(crate) struct Attempt {
    path: PathBuf,
    pub(crate) files: usize,
    pub(crate) refused: usize,
    /// Whether tensors may have more elements than the file.
    pub(crate) expanded: bool,
}

impl Attempt {
    pub(crate) fn new(name: &str) -> Self {
        let name = format!("damaged-{name}-{}", std::process::id());
        Self {
            path: std::env::temp_dir().join(name),
            files: 0,
            refused: 0,
            expanded: false,
        }
    }

    /// Loads a file of these bytes: either the tensors are readable, or the error is one of the file.
    pub(crate) fn load(
        &mut self,
        what: &str,
        bytes: &[u8],
        entry: Option<&str>,
    ) -> Result<StateDict, Error> {
        std::fs::write(&self.path, bytes).unwrap();
        let options = ReadOptions::new().expanded(self.expanded);
        let options = match entry {
            Some(entry) => options.entry(entry),
            None => options,
        };
        let (read, height) = height_of(|| StateDict::load_with(&self.path, &options));
        // The file itself is among them, because it is copied.
        let allowed = 17 * bytes.len() + (1 << 20);
        assert!(
            height <= allowed,
            "{what}: {height} bytes of memory for a file of {}",
            bytes.len()
        );
        self.files += 1;
        match &read {
            Ok(state) => {
                let elements = |t: &Tensor| t.numel() * t.dtype().size_in_bytes();
                if !self.expanded {
                    let largest = state.iter().map(|(_, t)| elements(t)).max();
                    assert!(
                        largest.unwrap_or_default() <= 8 * bytes.len() + (1 << 18),
                        "{what}"
                    );
                }
                for (_, tensor) in state.iter().filter(|(_, t)| t.numel() < 1 << 20) {
                    tensor.to_host().unwrap();
                }
            }
            Err(error) => {
                self.refused += 1;
                let of_file = matches!(
                    error.downcast_ref(),
                    Some(
                        FileError::Format { .. }
                            | FileError::NoStateDict { .. }
                            | FileError::File { .. }
                    )
                );
                assert!(of_file, "{what}: {error:?}");
                let message = error.to_string();
                assert!(message.len() < 4000, "{what}: {} bytes", message.len());
            }
        }
        read
    }

    /// Loads a file that must be refused.
    pub(crate) fn refuse(&mut self, what: &str, bytes: &[u8]) -> String {
        match self.load(what, bytes, None) {
            Ok(state) => panic!("{what} loads as {state:?}"),
            Err(error) => error.to_string(),
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        // A failing test leaves no more behind than a passing one.
        let _ = std::fs::remove_file(&self.path);
    }
}
