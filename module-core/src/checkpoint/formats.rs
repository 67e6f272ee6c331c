//! The known formats; the content of a file determines which one applies.

use std::path::Path;
use std::sync::{PoisonError, RwLock};

use super::format_error::damaged;
use super::{CheckpointReader, Format, ReadOptions, foreign, gguf, safetensors};
use crate::{Result, StateDict};

/// The formats of the library, in the order in which they are tried.
static FORMATS: &[&dyn Format] = &[
    &safetensors::Safetensors,
    &gguf::GgufFormat,
    #[cfg(feature = "npz")]
    &super::npz::Npz,
    #[cfg(feature = "torch-files")]
    &super::torch_zip::TorchZip,
    #[cfg(feature = "torch-files")]
    &super::torch_legacy::TorchLegacy,
];

/// Registered formats with their names, so that no user code runs under the lock.
static REGISTERED: RwLock<Vec<(&'static str, &'static dyn Format)>> = RwLock::new(Vec::new());

/// Adds a format for reading checkpoints, for as long as the program runs.
///
/// The format registered last is tried first, and those of the library last. A format with a name that is already
/// registered replaces the other one.
///
/// # Example
///
/// ```
/// use module_core::checkpoint::{CheckpointReader, Format, FormatError, register_format};
/// use module_core::{ReadOptions, StateDict};
///
/// /// Files without tensors.
/// struct Empty;
///
/// impl Format for Empty {
///     fn name(&self) -> &'static str {
///         "empty"
///     }
///
///     fn matches(&self, start: &[u8]) -> bool {
///         start == b"EMPTY"
///     }
///
///     fn read(&self, _: CheckpointReader<'_>, _: &ReadOptions) -> Result<StateDict, FormatError> {
///         Ok(StateDict::new())
///     }
/// }
///
/// register_format(Empty);
/// assert_eq!(StateDict::from_bytes(b"EMPTY")?.len(), 0);
/// # Ok::<(), module_core::Error>(())
/// ```
pub fn register_format(format: impl Format + 'static) {
    let format: &'static dyn Format = Box::leak(Box::new(format));
    let name = format.name();
    let mut formats = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    formats.retain(|(other, _)| *other != name);
    formats.push((name, format));
}

/// Reads a checkpoint with the format that recognizes it; errors name `path`.
pub(super) fn read_by_format(
    path: &Path,
    reader: CheckpointReader<'_>,
    options: &ReadOptions,
) -> Result<StateDict> {
    let format = format_of(path, reader.start())?;
    let state = format.read(reader, options);
    state.map_err(|problem| problem.in_file(path, format.name()))
}

/// The format of a checkpoint that starts with these bytes.
fn format_of(path: &Path, start: &[u8]) -> Result<&'static dyn Format> {
    let formats = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    let registered = formats.clone();
    drop(formats);
    let mut all = registered
        .iter()
        .rev()
        .map(|(_, format)| format)
        .chain(FORMATS);
    if let Some(format) = all.find(|format| format.matches(start)) {
        return Ok(*format);
    }
    let names = FORMATS.iter().map(|format| format.name());
    let names: Vec<&str> = names
        .chain(registered.iter().map(|(name, _)| *name))
        .collect();
    let none = format!("the content is none of: {}", names.join(", "));
    let problem = match foreign::describe(start) {
        Some(what) => format!("{what} ({none})"),
        None => none,
    };
    Err(damaged(path, "checkpoint", problem))
}
