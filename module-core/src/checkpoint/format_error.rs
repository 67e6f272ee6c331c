//! Why a file gives no state dict.

use std::io;
use std::path::Path;

use super::damaged;
use super::output::file_error;
use crate::{Error, FileError};

/// What is wrong with a file.
#[derive(Debug)]
pub(super) enum Problem {
    /// Its content is not what the format demands.
    Damaged(String),
    /// It is whole, but holds something else than tensors under names, or what is not served.
    Unfit(String),
    /// It could not be read.
    File(io::Error),
}

impl Problem {
    pub(super) fn unfit(problem: impl Into<String>) -> Self {
        Self::Unfit(problem.into())
    }

    /// The same problem of a named part.
    pub(super) fn of(self, name: &str) -> Self {
        match self {
            Self::Damaged(problem) => Self::Damaged(format!("`{name}`: {problem}")),
            Self::Unfit(problem) => Self::Unfit(format!("`{name}`: {problem}")),
            Self::File(error) => Self::File(error),
        }
    }

    /// The error for a file of this format.
    pub(super) fn in_file(self, path: &Path, format: &'static str) -> Error {
        match self {
            Self::Damaged(problem) => damaged(path, format, problem),
            Self::Unfit(problem) => FileError::NoStateDict {
                path: path.to_owned(),
                format,
                problem,
            }
            .into(),
            Self::File(error) => file_error(path, error),
        }
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Damaged(problem)
    }
}

impl From<&str> for Problem {
    fn from(problem: &str) -> Self {
        Self::Damaged(problem.to_owned())
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}
