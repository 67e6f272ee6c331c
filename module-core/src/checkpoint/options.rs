use super::FormatError;
#[cfg(feature = "mmap")]
use super::mapping::Promise;
use super::words::shorten;

/// How a checkpoint file is read.
///
/// # Example
///
/// ```
/// use module_core::{ReadOptions, StateDict, Tensor};
///
/// let path = std::env::temp_dir().join(format!("doc-read-{}.safetensors", std::process::id()));
/// StateDict::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]).save(&path)?;
/// // The tensors of this format lie flat.
/// let nested = StateDict::load_with(&path, &ReadOptions::new().entry("model"));
/// assert!(nested.unwrap_err().to_string().contains("there is no entry `model`"));
/// std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// ```
/// use module_core::checkpoint::TorchObject;
/// use module_core::{ReadOptions, StateDict, Tensor};
///
/// let options = ReadOptions::new().entry("state.model");
/// assert_eq!(options.entry_path(), Some("state.model"));
///
/// // One number seen as a million.
/// let wide = Tensor::from([1.0_f32]).expand([1_000_000])?;
/// let file = TorchObject::from_iter([("x", wide)]).to_bytes()?;
/// let state = StateDict::from_bytes_with(file, &ReadOptions::new().expanded(true))?;
/// assert_eq!(state.get("x").map(Tensor::numel), Some(1_000_000));
/// # Ok::<(), module_core::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    #[cfg(feature = "mmap")]
    pub(super) mapped: Option<Promise>,
    pub(super) entry: Option<String>,
    pub(super) expanded: bool,
}

impl ReadOptions {
    /// Reads the tensors of the whole file, copied into their own memory, so that later changes to the file have no effect.
    /// [`mapped`](Self::mapped) lets them borrow from it instead.
    pub fn new() -> Self {
        Self::default()
    }

    /// Which tensors are read from a file that nests them, such as `{"model": …, "epoch": …}`: a path of keys joined by
    /// dots. The rest of the file may then hold objects of any Python class: they are not created, and none of their code
    /// is executed.
    #[must_use]
    pub fn entry(self, entry: impl Into<String>) -> Self {
        Self {
            entry: Some(entry.into()),
            ..self
        }
    }

    /// The entry to read, if one was [named](Self::entry).
    pub fn entry_path(&self) -> Option<&str> {
        self.entry.as_deref()
    }

    /// Refuses a [named](Self::entry) entry, for a [`Format`](super::Format) whose files do not nest tensors.
    ///
    /// # Errors
    ///
    /// An entry.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::ReadOptions;
    ///
    /// assert!(ReadOptions::new().refuse_entry().is_ok());
    /// assert!(ReadOptions::new().entry("model").refuse_entry().is_err());
    /// ```
    pub fn refuse_entry(&self) -> Result<(), FormatError> {
        match &self.entry {
            Some(entry) => Err(FormatError::Unsupported(format!(
                "there is no entry `{}`: the tensors of this format lie flat",
                shorten(entry)
            ))),
            None => Ok(()),
        }
    }

    /// Whether tensors of PyTorch's files may have more elements than the file holds, as `expand` produces; false by
    /// default. Reading them takes no memory, but a file of 300 bytes may describe terabytes, which saving, casting or
    /// adding them would allocate.
    ///
    /// Otherwise a tensor has at most the elements of its storage, and all views together (ties count once) at most eight
    /// times the length of the file plus 256 KiB.
    #[must_use]
    pub fn expanded(self, expanded: bool) -> Self {
        Self { expanded, ..self }
    }
}
