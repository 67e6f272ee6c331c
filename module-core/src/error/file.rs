use std::path::{Path, PathBuf};

use module_tensor::error::{escape, passage};

/// What can go wrong with the files of checkpoints; found in an [`Error`](crate::Error) by
/// [`downcast_ref`](crate::Error::downcast_ref).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// A file that could not be read or written.
    #[error("{}: {source}", file(path))]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// A file that was saved, but that a crash of the system may still undo: the file itself is on the
    /// disk and in its place, and its directory could not be forced there.
    #[error(
        "{}: saved, but not durable: the new file is in place, and its directory could not be forced to \
         the disk, so that a crash of the system may bring back the old one: {source}",
        file(path)
    )]
    NotDurable {
        /// The file, which is the new one.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },

    /// A file whose content is not what its format demands.
    #[error("{}: not a valid {format} file: {}", file(path), passage(problem))]
    Format {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What is wrong.
        problem: String,
    },

    /// A whole file of a known format that holds something else than tensors under names, or tensors
    /// that are not served.
    #[error(
        "{}: this {format} file does not load as a state dict: {}",
        file(path),
        passage(problem)
    )]
    NoStateDict {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// What it holds, and what to do.
        problem: String,
    },
}

error_from!(FileError);

/// The place of a file, whole, with control characters escaped.
fn file(path: &Path) -> String {
    escape(&path.to_string_lossy()).to_string()
}
