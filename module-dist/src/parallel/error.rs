use std::fmt;

use module_nn::Error;

/// Why a model cannot be divided among ranks; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::parallel::{ColumnParallelLinear, ParallelError};
/// use module_nn::prelude::*;
///
/// let results = LocalComm::run_with(2, LocalComm::DEADLINE, |comm| {
///     ColumnParallelLinear::new(&LinearConfig::new(4, 3), comm).map(drop)
/// })?;
/// let error = results[1].as_ref().unwrap_err();
/// assert!(matches!(error.downcast_ref(), Some(ParallelError::NotDivisible { rank: 1, size: 3, .. })));
/// assert_eq!(
///     error.to_string(),
///     "rank 1: ColumnParallelLinear: out_features = 3 cannot be divided among 2 ranks; choose a multiple of 2"
/// );
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParallelError {
    /// A size that the number of ranks does not divide.
    NotDivisible {
        /// The rank that found it.
        rank: usize,
        /// The layer or the function.
        op: &'static str,
        /// The argument that has the size.
        what: &'static str,
        /// The size.
        size: usize,
        /// The number of parts: of ranks or of micro-batches.
        parts: usize,
    },
    /// An argument that a layer has in one process and not when it is divided.
    Unsupported {
        /// The rank that found it.
        rank: usize,
        /// The layer.
        op: &'static str,
        /// The argument.
        argument: &'static str,
    },
    /// A pipeline whose stages do not cover its layers.
    Stages {
        /// The rank that found it.
        rank: usize,
        /// The number of layers of each stage.
        counts: Vec<usize>,
        /// The number of layers.
        layers: usize,
        /// The number of ranks.
        ranks: usize,
    },
}

impl fmt::Display for ParallelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotDivisible {
                rank,
                op,
                what,
                size,
                parts,
            } => {
                let of = match *what {
                    "batch" => "micro-batches",
                    _ => "ranks",
                };
                write!(
                    f,
                    "rank {rank}: {op}: {what} = {size} cannot be divided among {parts} {of}; choose a multiple of {parts}"
                )
            }
            Self::Unsupported { rank, op, argument } => write!(
                f,
                "rank {rank}: {op}: `{argument}` is not supported by a layer that is divided among ranks; leave it out"
            ),
            Self::Stages {
                rank,
                counts,
                layers,
                ranks,
            } => write!(
                f,
                "rank {rank}: Pipeline: stages of {counts:?} layers do not divide {layers} layers among {ranks} ranks; \
                 give one number of at least 1 for each rank, with {layers} as their sum"
            ),
        }
    }
}

impl std::error::Error for ParallelError {}

impl From<ParallelError> for Error {
    fn from(error: ParallelError) -> Self {
        Self::custom(error)
    }
}
