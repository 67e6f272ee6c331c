use std::fmt;

use module_core::Error;
use module_core::error::quote;

/// What can go wrong with the parameters of an optimizer; found in an [`Error`] by
/// [`downcast_ref`](Error::downcast_ref).
#[derive(Debug)]
#[non_exhaustive]
pub enum OptimizerError {
    /// An optimizer that does not know all parameters of the model, or knows others.
    Parameters {
        /// The paths that are new, replaced or gone.
        paths: Vec<String>,
    },

    /// A step or a clip without a single gradient.
    NoGradients {
        /// The operation.
        op: &'static str,
    },
}

impl fmt::Display for OptimizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameters { paths } => {
                let names = paths.iter().map(|path| format!("`{}`", quote(path)));
                let names = names.collect::<Vec<_>>().join(", ");
                let are = if paths.len() == 1 { "is" } else { "are" };
                write!(
                    f,
                    "step: {names} {are} not the parameter(s) the optimiser was built with; build it anew \
                     after replacing layers"
                )
            }
            Self::NoGradients { op } => {
                write!(
                    f,
                    "{op}: no parameter has a gradient; call `backward` first"
                )
            }
        }
    }
}

impl std::error::Error for OptimizerError {}

impl From<OptimizerError> for Error {
    fn from(error: OptimizerError) -> Self {
        Self::custom(error)
    }
}
