use std::fmt;
use std::io;
use std::path::Path;

use super::output::file_error;
use crate::{Error, FileError};

/// Why a [`Format`](super::Format) cannot read a checkpoint.
///
/// `?` converts a string to [`Damaged`](Self::Damaged), and an error of the operating system to [`Io`](Self::Io).
///
/// # Example
///
/// ```
/// use module_core::checkpoint::FormatError;
///
/// fn version(bytes: &[u8]) -> Result<u8, FormatError> {
///     Ok(*bytes.first().ok_or("it is empty")?)
/// }
///
/// let error = version(&[]).map_err(|error| error.in_part("header")).unwrap_err();
/// assert!(matches!(&error, FormatError::Damaged(_)));
/// assert_eq!(error.to_string(), "`header`: it is empty");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum FormatError {
    /// The content does not follow the format.
    Damaged(String),
    /// The checkpoint is valid, but holds something other than named tensors, or uses an unsupported feature.
    Unsupported(String),
    /// It could not be read.
    Io(io::Error),
}

impl FormatError {
    /// The same problem, with the part of the checkpoint that has it.
    #[must_use]
    pub fn in_part(self, name: &str) -> Self {
        match self {
            Self::Damaged(problem) => Self::Damaged(format!("`{name}`: {problem}")),
            Self::Unsupported(problem) => Self::Unsupported(format!("`{name}`: {problem}")),
            Self::Io(error) => Self::Io(error),
        }
    }

    /// The error for a file of this format.
    pub(super) fn in_file(self, path: &Path, format: &'static str) -> Error {
        match self {
            Self::Damaged(problem) => damaged(path, format, problem),
            Self::Unsupported(problem) => FileError::NoStateDict {
                path: path.to_owned(),
                format,
                problem,
            }
            .into(),
            Self::Io(error) => file_error(path, error),
        }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged(problem) | Self::Unsupported(problem) => f.write_str(problem),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FormatError {}

impl From<String> for FormatError {
    fn from(problem: String) -> Self {
        Self::Damaged(problem)
    }
}

impl From<&str> for FormatError {
    fn from(problem: &str) -> Self {
        Self::Damaged(problem.to_owned())
    }
}

impl From<io::Error> for FormatError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The error for a file whose content does not follow the format.
pub(super) fn damaged(path: &Path, format: &'static str, problem: String) -> Error {
    let path = path.to_owned();
    FileError::Format {
        path,
        format,
        problem,
    }
    .into()
}
