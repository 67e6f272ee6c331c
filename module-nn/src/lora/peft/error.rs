use std::fmt;

use module_core::Error;
use module_core::error::{passage, quote};

/// Errors of PEFT's files other than those of their tensors; found in an [`Error`] by
/// [`downcast_ref`](Error::downcast_ref).
///
/// Tensors that are missing, unexpected or have other shapes are [`LoadProblems`](module_core::LoadProblems).
///
/// # Example
///
/// ```
/// use module_nn::lora::{PeftConfig, PeftError};
///
/// let json = r#"{"peft_type": "LORA", "target_modules": ["query"], "use_magic": true}"#;
/// let error = PeftConfig::from_json(json).unwrap_err();
/// match error.downcast_ref::<PeftError>() {
///     Some(PeftError::Field { field, value, .. }) => {
///         assert_eq!((field.as_str(), value.as_str()), ("use_magic", "true"));
///     }
///     _ => unreachable!("{error}"),
/// }
/// # Ok::<(), module_nn::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeftError {
    /// An `adapter_config.json` that is not JSON, or in which a field has a value of another type.
    Json {
        /// The problem, and where it is.
        problem: String,
    },

    /// A field whose value means something else here, or nothing.
    Field {
        /// The field.
        field: String,
        /// Its value, as JSON.
        value: String,
        /// The problem with it, and a remedy.
        problem: String,
    },
}

impl PeftError {
    pub(super) fn field(field: &str, value: impl fmt::Display, problem: &str) -> Error {
        Error::custom(Self::Field {
            field: field.to_owned(),
            value: value.to_string(),
            problem: problem.to_owned(),
        })
    }
}

impl fmt::Display for PeftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { problem } => write!(
                f,
                "adapter_config.json: not a configuration of PEFT: {}",
                quote(problem)
            ),
            Self::Field {
                field,
                value,
                problem,
            } => write!(
                f,
                "adapter_config.json: `{}` is {}: {}",
                quote(field),
                quote(value),
                passage(problem)
            ),
        }
    }
}

impl std::error::Error for PeftError {}

impl From<PeftError> for Error {
    fn from(error: PeftError) -> Self {
        Self::custom(error)
    }
}
