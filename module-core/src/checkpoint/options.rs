/// How a checkpoint file is read.
///
/// # Example
///
/// ```
/// use module_core::{ReadOptions, StateDict, Tensor};
///
/// let path = std::env::temp_dir().join(format!("doc-read-{}.safetensors", std::process::id()));
/// StateDict::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]).save(&path)?;
/// // A copy in memory, whatever happens to the file.
/// let state = StateDict::load_with(&path, &ReadOptions::new().mmap(false))?;
/// std::fs::remove_file(path)?;
/// assert_eq!(state.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    pub(super) mmap: bool,
    pub(super) entry: Option<String>,
}

impl ReadOptions {
    /// Mapped into memory; the tensors of the whole file.
    pub fn new() -> Self {
        Self {
            mmap: true,
            entry: None,
        }
    }

    /// Whether tensors borrow from the file, which is mapped into memory; true by default. Else the
    /// file is read into memory first, which the tensors share.
    ///
    /// A mapped file may be replaced by [`StateDict::save`](crate::StateDict::save) and removed (not on
    /// Windows, where a file that is mapped stays), but nobody may write into it or shorten it: the
    /// tensors would change, or the program would end with a bus error.
    #[must_use]
    pub fn mmap(self, mmap: bool) -> Self {
        Self { mmap, ..self }
    }

    /// Which tensors are read from a file that nests them, as `{"model": …, "epoch": …}`: a path of
    /// keys joined by dots.
    #[must_use]
    pub fn entry(self, entry: impl Into<String>) -> Self {
        Self {
            entry: Some(entry.into()),
            ..self
        }
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self::new()
    }
}
