use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use module_tensor::error::{escape, passage};

/// Errors of checkpoint files; found in an [`Error`](crate::Error) by [`downcast_ref`](crate::Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_core::{FileError, StateDict};
///
/// let error = StateDict::from_bytes(b"not a checkpoint".to_vec()).unwrap_err();
/// let problem: &FileError = error.downcast_ref().unwrap();
/// assert!(matches!(problem, FileError::Format { .. }), "{problem}");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// A file that could not be read or written.
    File {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },

    /// A file that was saved, but that a system crash may still undo: the file itself is on disk and in its place, but its
    /// directory could not be synced.
    NotDurable {
        /// The file, which is the new one.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },

    /// A file whose content does not follow its format.
    Format {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// The problem.
        problem: String,
    },

    /// A whole file of a known format that holds something other than named tensors, or unsupported tensors.
    NoStateDict {
        /// The file.
        path: PathBuf,
        /// The format.
        format: &'static str,
        /// The contents of the file, and a remedy.
        problem: String,
    },
}

error_from!(FileError);

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, source } => write!(f, "{}: {source}", file(path)),
            Self::NotDurable { path, source } => write!(
                f,
                "{}: saved, but not durable: the new file is in place, and its directory could not \
                 be flushed to disk, so that a crash of the system may bring back the old one: \
                 {source}",
                file(path)
            ),
            Self::Format {
                path,
                format,
                problem,
            } => write!(
                f,
                "{}: not a valid {format} file: {}",
                file(path),
                passage(problem)
            ),
            Self::NoStateDict {
                path,
                format,
                problem,
            } => write!(
                f,
                "{}: this {format} file does not load as a state dict: {}",
                file(path),
                passage(problem)
            ),
        }
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::NotDurable { source, .. } => Some(source),
            Self::Format { .. } | Self::NoStateDict { .. } => None,
        }
    }
}

/// A file's path in full, with control characters escaped.
fn file(path: &Path) -> String {
    escape(&path.to_string_lossy()).to_string()
}
