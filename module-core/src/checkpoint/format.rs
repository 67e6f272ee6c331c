use super::{CheckpointReader, FormatError, ReadOptions};
use crate::{Result, StateDict};

/// A file format from which state dicts are read; they are written as safetensors.
///
/// [`register_format`](super::register_format) adds your own format to those of the library, for files, bytes and readers.
///
/// # Example
///
/// A format of one tensor `x` of bytes, after a marker:
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
    /// The name of the format in errors.
    fn name(&self) -> &'static str;

    /// Whether a checkpoint that starts with these bytes (at most 128 KiB) has this format.
    fn matches(&self, start: &[u8]) -> bool;

    /// Reads a checkpoint. Formats that nest tensors, such as `{"model": …, "epoch": …}`, read those under the
    /// [entry](ReadOptions::entry_path) of the options.
    ///
    /// # Errors
    ///
    /// A problem with the checkpoint.
    fn read(
        &self,
        file: CheckpointReader<'_>,
        options: &ReadOptions,
    ) -> Result<StateDict, FormatError>;
}
