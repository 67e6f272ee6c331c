use std::error::Error;
use std::fmt;

use module_tensor::error::{passage, quote};

/// Errors about the members, keys and selections of modules; found in an [`Error`](crate::Error) by
/// [`downcast_ref`](crate::Error::downcast_ref).
///
/// # Example
///
/// ```
/// use module_core::{Identity, ModuleError, ModuleExt};
///
/// let error = Identity::new().get_submodule("layer1").err().unwrap();
/// assert!(error.downcast_ref::<ModuleError>().is_some(), "{error}");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum ModuleError {
    /// A path step that does not name a module.
    NoSuchMember {
        /// The requested path.
        path: String,
        /// The step that failed.
        step: String,
        /// The type of the module that lacks it.
        module: &'static str,
        /// The nearest name.
        suggestion: Option<String>,
    },

    /// A path step that names something other than what was requested.
    WrongMember {
        /// The requested path.
        path: String,
        /// The step that failed.
        step: String,
        /// The type of the module that has it.
        module: &'static str,
        /// The kind of member that it is.
        found: &'static str,
        /// The kind of member that was requested.
        expected: &'static str,
    },

    /// Mutable access to a module behind an `Arc` that has other handles.
    SharedModule {
        /// The path of the module; empty for the outermost one.
        path: String,
        /// Its type.
        module: &'static str,
    },

    /// Two members of a module with the same key.
    DuplicateKey {
        /// The key.
        key: String,
        /// The type of the outermost module.
        module: &'static str,
    },

    /// A key that contains a dot or is empty.
    InvalidKey {
        /// The operation.
        op: &'static str,
        /// The key.
        key: String,
    },

    /// A malformed pattern for paths or keys.
    Pattern {
        /// The pattern.
        pattern: String,
        /// The problem.
        problem: String,
    },

    /// A selection that matches nothing where it is used.
    NothingSelected {
        /// The selection.
        selection: String,
        /// The probably intended selection.
        suggestion: Option<String>,
        /// Without a suggestion, what could be selected in place of the first name that does not exist.
        names: Vec<String>,
    },

    /// Two keys of a state dict that become the same.
    KeyCollision {
        /// The operation.
        op: &'static str,
        /// The key that both would get.
        key: String,
        /// The key that gets it first.
        first: String,
        /// The other one.
        second: String,
    },

    /// A key that a state dict lacks.
    NoSuchKey {
        /// The operation.
        op: &'static str,
        /// The key.
        key: String,
        /// The nearest key.
        suggestion: Option<String>,
    },

    /// Parameters that were made from a tensor and cannot be redrawn.
    NoInitializer {
        /// The paths of the parameters.
        paths: Vec<String>,
    },
}

error_from!(ModuleError);

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchMember {
                path,
                step,
                module,
                suggestion,
            } => write!(
                f,
                "`{}` in path `{}` is not a member of {module}{}",
                quote(step),
                quote(path),
                did_you_mean(suggestion)
            ),
            Self::WrongMember {
                path,
                step,
                module,
                found,
                expected,
            } => write!(
                f,
                "`{}` in path `{}` is a {found} of {module}, not a {expected}",
                quote(step),
                quote(path)
            ),
            Self::SharedModule { path, module } => write!(
                f,
                "{} is shared through an `Arc`, so it cannot be borrowed mutably; drop the other handles \
                 first",
                place(path, module)
            ),
            Self::DuplicateKey { key, module } => write!(
                f,
                "key `{}` appears twice in {module}; rename a field with `#[module(rename = \"…\")]`",
                quote(key)
            ),
            Self::InvalidKey { op, key } => write!(
                f,
                "{op}: key `{}` must not be empty or contain `.`",
                quote(key)
            ),
            Self::Pattern { pattern, problem } => {
                write!(f, "pattern `{}`: {}", quote(pattern), passage(problem))
            }
            Self::NothingSelected {
                selection,
                suggestion,
                names,
            } => write!(
                f,
                "`{}` selects nothing{}{}",
                quote(selection),
                did_you_mean(suggestion),
                there_are(names)
            ),
            Self::KeyCollision {
                op,
                key,
                first,
                second,
            } => write!(
                f,
                "{op}: `{}` and `{}` would both become `{}`",
                quote(first),
                quote(second),
                quote(key)
            ),
            Self::NoSuchKey {
                op,
                key,
                suggestion,
            } => write!(
                f,
                "{op}: the state dict has no key `{}`{}",
                quote(key),
                did_you_mean(suggestion)
            ),
            Self::NoInitializer { paths } => write!(
                f,
                "reset_parameters: {} made from a tensor and cannot be drawn again; create {} with \
                 `Parameter::with_init`",
                list(paths, "was", "were"),
                if paths.len() == 1 { "it" } else { "them" }
            ),
        }
    }
}

impl Error for ModuleError {}

/// `` `encoder` (Linear) ``, or the type alone for the outermost module.
fn place(path: &str, module: &str) -> String {
    match path {
        "" => module.to_owned(),
        path => format!("`{}` ({module})", quote(path)),
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion
        .as_ref()
        .map(|name| format!("; did you mean `{}`?", quote(name)))
        .unwrap_or_default()
}

/// The first few names that exist, if they are known.
fn there_are(names: &[String]) -> String {
    const SHOWN: usize = 8;
    if names.is_empty() {
        return String::new();
    }
    let is = if names.len() == 1 { "is" } else { "are" };
    let shown = names.iter().take(SHOWN);
    let mut text: Vec<String> = shown.map(|name| format!("`{}`", quote(name))).collect();
    if let Some(more) = names.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push(format!("and {more} more"));
    }
    format!("; there {is} {}", text.join(", "))
}

/// `` `a`, `b` were ``, for use within a sentence.
fn list(paths: &[String], one: &str, many: &str) -> String {
    let names: Vec<String> = paths
        .iter()
        .map(|path| format!("`{}`", quote(path)))
        .collect();
    format!(
        "{} {}",
        names.join(", "),
        if paths.len() == 1 { one } else { many }
    )
}
