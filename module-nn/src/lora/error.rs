use std::fmt;

use module_core::Error;
use module_core::error::{passage, quote};

/// Errors of adapters; found in an [`Error`] by [`downcast_ref`](Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig, LoraError};
/// use module_nn::prelude::*;
///
/// let mut model = [Linear::new(8, 8)?];
/// lora::add_adapter(&mut model, "german", "0", &LoraConfig::new())?;
/// let error = lora::set_adapter(&model, ["french"]).unwrap_err();
/// match error.downcast_ref::<LoraError>() {
///     Some(LoraError::NoSuchAdapter { adapter, adapters, .. }) => {
///         assert_eq!((adapter.as_str(), adapters.join(" ")), ("french", "german".to_owned()));
///     }
///     _ => unreachable!("{error}"),
/// }
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoraError {
    /// A selected module that cannot be adapted.
    NotAdaptable {
        /// Its path.
        path: String,
        /// Its type.
        kind: &'static str,
        /// Why not, and what to do.
        reason: String,
    },

    /// A name that the model already uses for an adapter.
    Exists {
        /// The name.
        adapter: String,
    },

    /// A name that no adapter of the model has.
    NoSuchAdapter {
        /// The operation.
        op: &'static str,
        /// The name.
        adapter: String,
        /// The existing adapters.
        adapters: Vec<String>,
    },

    /// An operation on adapters that must not be merged.
    Merged {
        /// The operation.
        op: &'static str,
        /// The merged adapters.
        adapters: Vec<String>,
    },

    /// Nothing to merge or unmerge.
    NothingToMerge {
        /// The operation.
        op: &'static str,
        /// The missing requirement.
        needs: &'static str,
    },

    /// A weight that cannot be changed, by its path.
    Weight {
        /// The operation.
        op: &'static str,
        /// The path of the layer.
        path: String,
        /// Why not, and what to do.
        reason: String,
    },

    /// Adapters that cannot be used or combined together.
    Together {
        /// The operation.
        op: &'static str,
        /// The path of the layer that both adapt.
        path: String,
        /// The adapters.
        adapters: Vec<String>,
        /// Why not, and what to do.
        reason: String,
    },
}

impl fmt::Display for LoraError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAdaptable { path, kind, reason } => write!(
                f,
                "add_adapter: `{}` ({kind}) cannot be adapted: {}",
                quote(path),
                passage(reason)
            ),
            Self::Exists { adapter } => write!(
                f,
                "add_adapter: there is an adapter `{}` already; delete it first, or choose another name",
                quote(adapter)
            ),
            Self::NoSuchAdapter {
                op,
                adapter,
                adapters,
            } => write!(
                f,
                "{op}: there is no adapter `{}`; the model has {}",
                quote(adapter),
                list(adapters)
            ),
            Self::Merged { op, adapters } => write!(
                f,
                "{op}: {} merged into the weights; call `unmerge` first",
                match adapters.len() {
                    1 => format!("{} is", list(adapters)),
                    _ => format!("{} are", list(adapters)),
                }
            ),
            Self::NothingToMerge { op, needs } => write!(f, "{op}: {needs}"),
            Self::Weight { op, path, reason } => {
                let (path, reason) = (quote(path), passage(reason));
                write!(f, "{op}: the weight of `{path}` {reason}")
            }
            Self::Together {
                op,
                path,
                adapters,
                reason,
            } => write!(
                f,
                "{op}: {} meet in `{}`: {}",
                list(adapters),
                quote(path),
                passage(reason)
            ),
        }
    }
}

impl std::error::Error for LoraError {}

impl From<LoraError> for Error {
    fn from(error: LoraError) -> Self {
        Self::custom(error)
    }
}

/// `` `a`, `b` ``, or `none`.
fn list(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", quote(name)))
        .collect();
    names.join(", ")
}
