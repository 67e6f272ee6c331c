use std::fmt;

use module_nn::Error;
use serde::{Deserialize, Serialize};

/// Why a run ended on all ranks: which rank is at fault, where, and what happened.
///
/// Every rank returns the same one; it is found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_dist::{FailureCause, RankFailure};
///
/// let failure = RankFailure::new(3, "all_reduce(sum) 17", FailureCause::NoAnswer { seconds: 30.0 });
/// assert_eq!(
///     failure.to_string(),
///     "rank 3 in all_reduce(sum) 17: no answer within 30 s; look for the cause in the output of this rank, or set a \
///      longer deadline"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankFailure {
    /// The rank at fault, counted in the whole run.
    pub rank: usize,
    /// Where: the collective, the step or the parameter.
    pub place: String,
    /// The cause.
    pub cause: FailureCause,
}

/// The cause of the failure on the rank at fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FailureCause {
    /// Others waited for it longer than the deadline.
    NoAnswer {
        /// The deadline.
        seconds: f64,
    },
    /// It ended while others waited for it.
    Left,
    /// It returned an error.
    Error {
        /// The error's message.
        message: String,
    },
    /// It made a different call from another rank.
    DifferentCall {
        /// The call of the rank.
        called: String,
        /// The call of the other rank.
        expected: String,
        /// The other rank.
        other: usize,
    },
    /// Its model is not that of rank 0.
    DifferentModel {
        /// The first difference.
        difference: String,
    },
    /// Its parameters have become different from rank 0's.
    Diverged {
        /// The first parameter that differs.
        parameter: String,
    },
    /// Its loss does not depend on these parameters.
    UnusedParameters {
        /// Their paths.
        parameters: Vec<String>,
    },
    /// It computed an infinite number or NaN.
    NonFinite {
        /// The value that is not finite.
        what: String,
    },
}

impl RankFailure {
    /// A failure of `rank` at `place`.
    pub fn new(rank: usize, place: impl Into<String>, cause: FailureCause) -> Self {
        let place = place.into();
        Self { rank, place, cause }
    }
}

impl fmt::Display for RankFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {} in {}: {}", self.rank, self.place, self.cause)
    }
}

impl fmt::Display for FailureCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer { seconds } => write!(
                f,
                "no answer within {seconds} s; look for the cause in the output of this rank, or set a longer deadline"
            ),
            Self::Left => f.write_str(
                "it ended while others waited for it; look for the cause in the output of this rank",
            ),
            Self::Error { message } => f.write_str(message),
            Self::DifferentCall {
                called,
                expected,
                other,
            } => write!(
                f,
                "it called {called}, where rank {other} called {expected}; all ranks must make the same calls in the \
                 same order"
            ),
            Self::DifferentModel { difference } => write!(
                f,
                "its model is not that of rank 0: {difference}; build the same model on all ranks"
            ),
            Self::Diverged { parameter } => write!(
                f,
                "its parameter `{parameter}` has other values than on rank 0; change parameters only by steps that all \
                 ranks take, and buffers only by what `DataParallel` broadcasts"
            ),
            Self::UnusedParameters { parameters } => write!(
                f,
                "the loss does not depend on {}, so that no gradient of them can be averaged; use them, freeze them, or allow \
                 it with `DataParallelConfig::find_unused_parameters`",
                list(parameters)
            ),
            Self::NonFinite { what } => write!(
                f,
                "{what} is infinite or NaN; lower the learning rate, clip gradients or look for the operation with \
                 `detect_anomaly`"
            ),
        }
    }
}

impl std::error::Error for RankFailure {}

impl From<RankFailure> for Error {
    fn from(failure: RankFailure) -> Self {
        Self::custom(failure)
    }
}

/// The first names of a list, quoted.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<_> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
