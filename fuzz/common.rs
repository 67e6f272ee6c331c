//! The checks that every target makes on the content of a file.

use std::path::Path;

use module_core::__private::read_bytes;
use module_core::{FileError, ReadOptions};

/// Reads it: the tensors must be readable too, or the error must be one of files.
pub fn read(name: &str, bytes: Vec<u8>, entry: Option<&str>) {
    let options = match entry {
        Some(entry) => ReadOptions::new().entry(entry),
        None => ReadOptions::new(),
    };
    match read_bytes(&Path::new("/nonexistent").join(name), bytes, &options) {
        Ok(state) => {
            for (_, tensor) in state.iter().filter(|(_, tensor)| tensor.numel() < 1 << 16) {
                tensor.unpack().and_then(|tensor| tensor.to_host()).expect("its elements");
            }
        }
        Err(error) => {
            let of_file = matches!(error.downcast_ref(), Some(FileError::Format { .. } | FileError::NoStateDict { .. } | FileError::File { .. }));
            assert!(of_file, "{error:?}");
        }
    }
}
