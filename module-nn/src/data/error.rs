use std::{fmt, io};

use module_core::Error;
use module_core::error::quote;

/// Errors of data sets and loading; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
#[derive(Debug)]
#[non_exhaustive]
pub enum DataError {
    /// An index that a data set does not have.
    Index {
        /// The index.
        index: usize,
        /// The number of samples.
        len: usize,
    },

    /// An empty input where something is needed.
    Empty {
        /// The operation.
        op: &'static str,
        /// The argument that must not be empty.
        what: &'static str,
    },

    /// Tensors of one data set with different first dimensions.
    FirstDimension {
        /// The number of the tensor, from 0.
        tensor: usize,
        /// The first dimension of tensor 0.
        expected: usize,
        /// The first dimension of this tensor.
        found: usize,
    },

    /// Counts of a split that do not add up to the length of the data set.
    SplitLengths {
        /// The counts.
        lengths: Vec<usize>,
        /// The number of samples.
        len: usize,
    },

    /// Data sets of different lengths that were to be stacked.
    StackLengths {
        /// Their numbers of samples.
        lengths: Vec<usize>,
    },

    /// A sample that cannot be batched with the first one.
    Sample {
        /// Its position in the batch, from 0.
        sample: usize,
        /// How it differs: `shape`, `dtype`, `device`, `length` or `keys`.
        what: &'static str,
        /// The value for this sample.
        found: String,
        /// The value for sample 0.
        expected: String,
    },

    /// A sample that the data set could not load.
    Load {
        /// The number of the batch, from 0.
        batch: usize,
        /// The index of the sample.
        index: usize,
        /// The error of the data set.
        source: Error,
    },

    /// Samples that could not be collated.
    Collate {
        /// The number of the batch, from 0.
        batch: usize,
        /// The indices of its samples.
        indices: Vec<usize>,
        /// The error of the collation.
        source: Error,
    },

    /// A panic on a worker.
    Panic {
        /// The number of the batch, from 0.
        batch: usize,
        /// The index of the sample that was being loaded; `None` during the collation.
        index: Option<usize>,
        /// The message of the panic.
        message: String,
    },

    /// Workers requested where no thread can be started: without the feature `threads`, or on WebAssembly.
    NoThreads {
        /// How many were asked for.
        num_workers: usize,
    },

    /// A worker that could not be started.
    Start {
        /// The number of the worker, from 0.
        worker: usize,
        /// The error of the operating system.
        source: io::Error,
    },

    /// A worker that ended before its batch was loaded.
    Ended {
        /// The number of the batch, from 0.
        batch: usize,
    },
}

impl DataError {
    /// Checks an index against the number of samples, for the [`get`](super::Dataset::get) of a data set.
    ///
    /// # Errors
    ///
    /// [`Index`](Self::Index) unless `index < len`.
    pub fn check_index(index: usize, len: usize) -> Result<(), Self> {
        match index < len {
            true => Ok(()),
            false => Err(Self::Index { index, len }),
        }
    }
}

/// The maximum number of indices in a message.
const LISTED: usize = 8;

fn list(indices: &[usize]) -> String {
    let listed: Vec<String> = indices.iter().take(LISTED).map(usize::to_string).collect();
    let rest = match indices.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("[{}{rest}]", listed.join(", "))
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index { index, len } => {
                write!(f, "dataset: index {index} is out of range of {len} samples")
            }
            Self::Empty { op, what } => write!(f, "{op}: there are no {what}; give at least one"),
            Self::FirstDimension {
                tensor,
                expected,
                found,
            } => write!(
                f,
                "tensor_dataset: tensor {tensor} has {found} rows, and tensor 0 has {expected}; the first \
                 dimensions must be equal"
            ),
            Self::SplitLengths { lengths, len } => {
                let sum: u128 = lengths.iter().map(|&n| n as u128).sum();
                let lengths = list(lengths);
                write!(
                    f,
                    "random_split: lengths {lengths} add up to {sum}, and the data set has {len} samples"
                )
            }
            Self::StackLengths { lengths } => write!(
                f,
                "stack_dataset: the data sets have {} samples; the numbers must be equal",
                list(lengths)
            ),
            Self::Sample {
                sample,
                what,
                found,
                expected,
            } => {
                let (found, expected) = (quote(found), quote(expected));
                write!(
                    f,
                    "collate: sample {sample} of the batch has {what} {found}, and sample 0 has {expected}; make \
                     them equal, or set `collate_fn`"
                )
            }
            Self::Load {
                batch,
                index,
                source,
            } => write!(f, "sample {index} (batch {batch}): {source}"),
            Self::Collate {
                batch,
                indices,
                source,
            } => write!(f, "batch {batch} of samples {}: {source}", list(indices)),
            Self::Panic {
                batch,
                index,
                message,
            } => {
                let message = quote(message);
                match index {
                    Some(index) => write!(
                        f,
                        "sample {index} (batch {batch}): loading it panicked: {message}"
                    ),
                    None => write!(f, "batch {batch}: collating it panicked: {message}"),
                }
            }
            Self::NoThreads { num_workers } => write!(
                f,
                "data_loader: num_workers = {num_workers}: no thread can be started here; set it to 0, or build \
                 with the feature `threads` for a platform that has them"
            ),
            Self::Start { worker, source } => {
                write!(
                    f,
                    "data_loader: worker {worker} could not be started: {source}"
                )
            }
            Self::Ended { batch } => {
                write!(f, "batch {batch}: its worker ended before it was loaded")
            }
        }
    }
}

impl std::error::Error for DataError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Load { source, .. } | Self::Collate { source, .. } => Some(source),
            Self::Start { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<DataError> for Error {
    fn from(error: DataError) -> Self {
        Self::custom(error)
    }
}
