use std::fmt;

use module_nn::Error;

/// A sharded model that is used as one that is not, or a checkpoint that does not fit; found in an [`Error`] by
/// [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_dist::LocalComm;
/// use module_dist::sharding::{Sharded, ShardingError, ShardingStage};
/// use module_nn::prelude::*;
///
/// let results = LocalComm::run_with(2, LocalComm::DEADLINE, |comm| {
///     let model = Linear::new(2, 2)?;
///     let sharded = Sharded::new(&model, comm, ShardingStage::Parameters)?;
///     // `sharded.backward(&loss)` is needed here.
///     model.call(Tensor::from([[1.0_f32, 2.0]]))?.sum(..)?.backward()
/// })?;
/// let message = results[0].as_ref().unwrap_err().to_string();
/// assert!(message.contains("call `Sharded::backward` instead of `Tensor::backward`"), "{message}");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShardingError {
    /// A gradient of a sharded model was computed without [`Sharded::backward`](super::Sharded::backward).
    OutsideBackward {
        /// The rank.
        rank: usize,
        /// The path of the module or the parameter.
        path: String,
    },
    /// The value of a sharded parameter was set.
    Replaced {
        /// The rank.
        rank: usize,
        /// The path of the parameter.
        parameter: String,
    },
    /// An optimizer that does not move each element by itself.
    NotElementwise {
        /// The rank.
        rank: usize,
    },
    /// The dtype or the device of a parameter was changed.
    Converted {
        /// The rank.
        rank: usize,
        /// The path of the parameter.
        parameter: String,
        /// Its dtype, shape and device.
        now: String,
        /// Those that it had when it was sharded.
        before: String,
    },
    /// A state dict hook of the model has replaced the values of parameters, which are elsewhere while they are sharded.
    NotInState {
        /// The rank.
        rank: usize,
        /// The path of the parameter.
        parameter: String,
    },
    /// A sharded checkpoint of another model or with files that do not fit together.
    Checkpoint {
        /// The rank that found it.
        rank: usize,
        /// The problem.
        problem: String,
    },
}

impl fmt::Display for ShardingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideBackward { rank, path } => write!(
                f,
                "rank {rank}: a backward pass reached `{path}` of a sharded model; call `Sharded::backward` instead of \
                 `Tensor::backward`"
            ),
            Self::Replaced { rank, parameter } => write!(
                f,
                "rank {rank}: the value of the sharded parameter `{parameter}` was set; use `Sharded::load_state_dict`, or \
                 set it before the model is sharded"
            ),
            Self::NotElementwise { rank } => write!(
                f,
                "rank {rank}: this optimizer does not move each element by itself, so that it would move a part of a \
                 parameter otherwise than the whole; use an elementwise one such as `AdamW` or `SGD`"
            ),
            Self::Converted {
                rank,
                parameter,
                now,
                before,
            } => write!(
                f,
                "rank {rank}: the parameter `{parameter}` is {now}, and was {before} when it was sharded; cast and move the \
                 model before"
            ),
            Self::NotInState { rank, parameter } => write!(
                f,
                "rank {rank}: the state dict has no value of the sharded parameter `{parameter}`; remove the state dict hooks \
                 that replace values"
            ),
            Self::Checkpoint { rank, problem } => {
                write!(f, "rank {rank}: sharded checkpoint: {problem}")
            }
        }
    }
}

impl std::error::Error for ShardingError {}

impl From<ShardingError> for Error {
    fn from(error: ShardingError) -> Self {
        Self::custom(error)
    }
}
