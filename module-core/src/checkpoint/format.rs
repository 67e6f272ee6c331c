use std::path::Path;
use std::sync::{PoisonError, RwLock};

use super::{CheckpointReader, FormatError, ReadOptions, damaged, foreign, safetensors};
use crate::{Result, StateDict};

/// A file format of state dicts that is read; what is written is safetensors.
///
/// [`register_format`] adds one of one's own to those that the library has, for files, bytes and readers.
///
/// # Example
///
/// A format of one tensor `x` of bytes, behind a mark:
///
/// ```
/// use module_core::checkpoint::{CheckpointReader, Format, FormatError, TensorPlace, register_format};
/// use module_core::{DType, ReadOptions, StateDict};
///
/// struct Bytes;
///
/// impl Format for Bytes {
///     fn name(&self) -> &'static str {
///         "bytes"
///     }
///
///     fn matches(&self, start: &[u8]) -> bool {
///         start.starts_with(b"BYTES")
///     }
///
///     fn read(&self, file: CheckpointReader<'_>, _: &ReadOptions) -> Result<StateDict, FormatError> {
///         let length = file.length();
///         let place = TensorPlace::new(DType::U8, [length - 5], 5..length);
///         Ok(file.tensors(&[place])?.into_iter().map(|x| ("x", x)).collect())
///     }
/// }
///
/// register_format(Bytes);
/// let state = StateDict::from_bytes(b"BYTES\x01\x02")?;
/// assert_eq!(state.get("x").unwrap().to_vec::<u8>()?, [1, 2]);
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait Format: Send + Sync {
    /// What errors call it.
    fn name(&self) -> &'static str;

    /// Whether a checkpoint that starts with these bytes, at most 128 KiB, is of this format.
    fn matches(&self, start: &[u8]) -> bool;

    /// Reads a checkpoint. Formats that nest tensors, as `{"model": …, "epoch": …}`, read those under the
    /// [entry](ReadOptions::entry_path) of the options.
    ///
    /// # Errors
    ///
    /// What is wrong with the checkpoint.
    fn read(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError>;
}

/// The formats of the library, asked in this order.
static FORMATS: &[&dyn Format] = &[
    &safetensors::Safetensors,
    #[cfg(feature = "npz")]
    &super::npz::Npz,
    #[cfg(feature = "torch-files")]
    &super::torch_zip::TorchZip,
    #[cfg(feature = "torch-files")]
    &super::torch_legacy::TorchLegacy,
];

/// What users registered, with its names, so that none of their code runs under the lock.
static REGISTERED: RwLock<Vec<(&'static str, &'static dyn Format)>> = RwLock::new(Vec::new());

/// Adds a format to those that checkpoints are read by, for as long as the program runs.
///
/// The format that was registered last is asked first, and those of the library last. One of a name that is
/// registered already takes the place of that one.
pub fn register_format(format: impl Format + 'static) {
    let format: &'static dyn Format = Box::leak(Box::new(format));
    let name = format.name();
    let mut formats = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    formats.retain(|(other, _)| *other != name);
    formats.push((name, format));
}

/// Reads a checkpoint by the format that it has; errors name `path`.
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
