use std::fmt;

use module_core::Error;
use module_core::error::quote;

/// Errors of averages; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_nn::optim::AveragingError;
/// use module_nn::prelude::*;
///
/// let mut ema = EMA::new(&Linear::new(2, 1)?, 0.9)?;
/// let error = ema.update(&LinearConfig::new(2, 1).bias(false).build()?).unwrap_err();
/// match error.downcast_ref::<AveragingError>() {
///     Some(AveragingError::Tensors { keys, .. }) => assert_eq!(keys, &["bias"]),
///     _ => unreachable!("{error}"),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum AveragingError {
    /// A model whose tensors differ from those that the average was built with.
    Tensors {
        /// The average.
        name: &'static str,
        /// The keys that are new, missing, of another shape, or tied differently.
        keys: Vec<String>,
    },

    /// An update from a model whose values are swapped, probably for the averaged ones.
    Swapped {
        /// The average.
        name: &'static str,
        /// The first tensor with a swapped value.
        key: String,
    },

    /// Averaged values of a different model.
    State {
        /// The average.
        name: &'static str,
        /// Keys that the state lacks.
        missing: Vec<String>,
        /// Keys that only the state has.
        unexpected: Vec<String>,
        /// Keys whose shapes differ.
        mismatched: Vec<String>,
    },
}

/// At most ten keys, in words.
fn list(keys: &[String]) -> String {
    const SHOWN: usize = 10;
    let shown = keys.iter().take(SHOWN);
    let names: Vec<String> = shown.map(|key| format!("`{}`", quote(key))).collect();
    let more = match keys.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.join(", ") + &more
}

impl fmt::Display for AveragingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensors { name, keys } => write!(
                f,
                "{name}: the model differs from the one that the average was built with in {}; build the \
                 average again after replacing layers",
                list(keys)
            ),
            Self::Swapped { name, key } => write!(
                f,
                "{name}: `{}` does not have its own value; drop the guard of `swap_in` before `update`",
                quote(key)
            ),
            Self::State {
                name,
                missing,
                unexpected,
                mismatched,
            } => {
                write!(f, "{name}: the state is that of another model:")?;
                let kinds = [
                    ("it lacks", missing),
                    ("it alone has", unexpected),
                    ("other shapes have", mismatched),
                ];
                let kinds = kinds.into_iter().filter(|(_, keys)| !keys.is_empty());
                for (i, (what, keys)) in kinds.enumerate() {
                    let comma = if i > 0 { ";" } else { "" };
                    write!(f, "{comma} {what} {}", list(keys))?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for AveragingError {}

impl From<AveragingError> for Error {
    fn from(error: AveragingError) -> Self {
        Self::custom(error)
    }
}
