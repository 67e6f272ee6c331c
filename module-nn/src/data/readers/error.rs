use std::path::{Path, PathBuf};
use std::{fmt, io};

use module_core::Error;
use module_core::error::{escape, passage, quote};

/// Errors in the files of data sets; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_nn::data::{CsvConfig, ReaderError};
///
/// let error = CsvConfig::new().read("a,b\n1,2\n3,x\n".as_bytes()).unwrap_err();
/// match error.downcast_ref::<ReaderError>() {
///     Some(ReaderError::Cell { line, column, text, .. }) => {
///         assert_eq!((*line, *column, text.as_str()), (3, 1, "x"));
///     }
///     _ => unreachable!("{error}"),
/// }
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ReaderError {
    /// A problem in a file.
    File {
        /// The file.
        path: PathBuf,
        /// The problem.
        source: Box<ReaderError>,
    },

    /// The error of the operating system or a reader.
    Io(io::Error),

    /// Content that does not follow its format.
    Format {
        /// The format.
        format: &'static str,
        /// The problem.
        problem: String,
    },

    /// Fewer bytes than the format or its header requires.
    TooShort {
        /// The format.
        format: &'static str,
        /// The expected content of the bytes.
        what: &'static str,
        /// How many there should be.
        expected: u64,
        /// How many there are.
        found: u64,
    },

    /// Bytes after the end that the header states.
    TooLong {
        /// The format.
        format: &'static str,
        /// How many bytes of elements there should be.
        expected: u64,
    },

    /// A label that is not one of the classes.
    Label {
        /// The format.
        format: &'static str,
        /// The number of the sample, from 0.
        sample: usize,
        /// The label.
        label: i64,
        /// How many classes there are.
        classes: usize,
    },

    /// A part of a table that cannot be read.
    Cell {
        /// The line of the file on which the row starts, from 1.
        line: usize,
        /// The number of the column, from 0.
        column: usize,
        /// The name of the column, if the table has a header.
        name: Option<String>,
        /// The text of the cell.
        text: String,
        /// The problem.
        problem: &'static str,
    },

    /// A line of a table that cannot be read.
    Line {
        /// The line of the file, from 1.
        line: usize,
        /// The problem.
        problem: String,
    },

    /// Two files of one data set with different numbers of samples.
    Counts {
        /// The number of images.
        images: usize,
        /// The number of labels.
        labels: usize,
    },
}

impl ReaderError {
    pub(super) fn format(format: &'static str, problem: impl Into<String>) -> Self {
        let problem = problem.into();
        Self::Format { format, problem }
    }

    /// This error, located in a file.
    #[cfg_attr(not(feature = "fs"), allow(dead_code))]
    pub(super) fn of_file(self, path: &Path) -> Self {
        Self::File {
            path: path.to_path_buf(),
            source: Box::new(self),
        }
    }
}

impl fmt::Display for ReaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, source } => {
                write!(f, "{}: {source}", escape(&path.to_string_lossy()))
            }
            Self::Io(source) => write!(f, "{source}"),
            Self::Format { format, problem } => write!(f, "{format}: {}", passage(problem)),
            Self::TooShort {
                format,
                what,
                expected,
                found,
            } => write!(
                f,
                "{format}: expected {expected} bytes of {what}, and there are {found} (truncated?); download it again"
            ),
            Self::TooLong { format, expected } => write!(
                f,
                "{format}: bytes follow the {expected} that its header states; it is not one file of this format"
            ),
            Self::Label {
                format,
                sample,
                label,
                classes,
            } => write!(
                f,
                "{format}: sample {sample} has label {label}, and there are {classes} classes; check that it is \
                 a file of this data set"
            ),
            Self::Cell {
                line,
                column,
                name,
                text,
                problem,
            } => {
                write!(f, "csv: line {line}, column {column}")?;
                if let Some(name) = name {
                    write!(f, " (`{}`)", quote(name))?;
                }
                write!(f, ": `{}` {problem}", quote(text))
            }
            Self::Line { line, problem } => write!(f, "csv: line {line}: {}", passage(problem)),
            Self::Counts { images, labels } => write!(
                f,
                "there are {images} images and {labels} labels; give the two files of one part of the data set"
            ),
        }
    }
}

impl std::error::Error for ReaderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            Self::Io(source) => Some(source),
            _ => None,
        }
    }
}

impl From<io::Error> for ReaderError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<ReaderError> for Error {
    fn from(error: ReaderError) -> Self {
        Self::custom(error)
    }
}
