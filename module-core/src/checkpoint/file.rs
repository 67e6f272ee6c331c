//! State dicts in files.

use std::path::Path;

use super::bytes::is_index;
use super::formats::read_by_format;
use super::open::{open, read_whole};
use super::output::file_error;
use super::{CheckpointReader, ReadOptions, SaveHandle, atomic, bytes, safetensors, sharded};
use crate::backend::SharedBytes;
use crate::{Result, StateDict};

impl StateDict {
    /// Writes a safetensors file that PyTorch's `safetensors.torch.load_file` reads.
    ///
    /// The file is written completely next to the old one, synced and moved into its place, so that a crash at any moment
    /// leaves one or the other, and perhaps a file `.checkpoint-…`, which the next save in its directory removes. (Files
    /// that other programs are writing are recognized by a lock, and stay.) Elements are written directly from memory, so
    /// that saving needs no second copy of a model. Tied tensors are written once; the metadata names the others, as in
    /// `safetensors.torch.save_model`.
    ///
    /// A new file has the mode that the umask gives new files; a file that replaces another has that one's permissions,
    /// without set-uid, set-gid and sticky bits, and belongs to the user who saves. If `path` is a symbolic link, the file
    /// that it points to is replaced, and the link stays.
    ///
    /// # Errors
    ///
    /// A directory that does not exist or cannot be written, a full disk, a path that is a directory or a device: then the
    /// old file is unchanged. [`FileError::NotDurable`](crate::FileError::NotDurable): the new file is in place, but a
    /// system crash may bring back the old one.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let path = std::env::temp_dir().join(format!("doc-{}.safetensors", std::process::id()));
    /// let state = StateDict::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]);
    /// state.save(&path)?;
    /// assert_eq!(StateDict::load(&path)?.get("weight").unwrap().to_vec::<f32>()?, [1.0, 2.0]);
    /// std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let at = |error| file_error(path.as_ref(), error);
        let path = atomic::follow_links(path.as_ref()).map_err(at)?;
        atomic::remove_stale_temporaries(atomic::directory_of(&path).map_err(at)?);
        atomic::write(&path, |output| safetensors::write(self, output))
    }

    /// [`save`](Self::save) on another thread. It writes the current state: tensors do not change, so training can continue
    /// meanwhile.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let path = std::env::temp_dir().join(format!("doc-async-{}.safetensors", std::process::id()));
    /// let state = StateDict::from_iter([("weight", Tensor::from([1.0_f32, 2.0]))]);
    /// let saving = state.save_async(&path);
    /// // Another step.
    /// saving.join()?;
    /// assert_eq!(StateDict::load(&path)?.len(), 1);
    /// std::fs::remove_file(path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save_async(&self, path: impl AsRef<Path>) -> SaveHandle {
        let (state, path) = (self.clone(), path.as_ref().to_owned());
        SaveHandle::spawn(path.clone(), move || state.save(path))
    }

    /// Writes a directory of safetensors files, each of at most `max_shard_size` bytes of elements or with one larger
    /// tensor, as Hugging Face's tools do: `model-00001-of-00002.safetensors`, …, and `model.safetensors.index.json`, which
    /// says which file holds each tensor.
    ///
    /// The directory is made if it does not exist. If it already has such files, the new ones are written next to them
    /// under unused names (`model.1-00001-of-00002.safetensors`), then the index is replaced, and then shards that it does
    /// not name are removed: a crash at any moment leaves the complete old state or the complete new one. Tied tensors are
    /// written once; the metadata of the index names the others. Symbolic links in the directory are replaced, and their
    /// targets stay.
    ///
    /// # Errors
    ///
    /// Shards of zero bytes; a directory with a `model.safetensors`, which readers prefer to an index; a directory that
    /// cannot be made or written; a full disk: then the old state is in place.
    /// [`FileError::NotDurable`](crate::FileError::NotDurable): as for [`save`](Self::save), the new state is in place.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{StateDict, Tensor};
    ///
    /// let directory = std::env::temp_dir().join(format!("doc-sharded-{}", std::process::id()));
    /// let tensor = Tensor::from([1.0_f32, 2.0]);
    /// let state = StateDict::from_iter([("a", tensor.clone()), ("b", (tensor * 2.0)?)]);
    /// state.save_sharded(&directory, 8)?;
    /// assert!(directory.join("model-00002-of-00002.safetensors").is_file());
    /// assert_eq!(StateDict::load(&directory)?.get("b").unwrap().to_vec::<f32>()?, [2.0, 4.0]);
    /// std::fs::remove_dir_all(directory)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn save_sharded(&self, directory: impl AsRef<Path>, max_shard_size: usize) -> Result<()> {
        sharded::write(self, directory.as_ref(), max_shard_size)
    }

    /// Reads a checkpoint file, whose format is detected from its content.
    ///
    /// For an index of shards, the files that it names are read. For a directory, its `model.safetensors`, its
    /// `model.safetensors.index.json`, or their older counterparts `pytorch_model.bin` and `pytorch_model.bin.index.json`
    /// are read.
    ///
    /// The tensors are copies, so later changes to the file have no effect. Safetensors files are read tensor by tensor
    /// into their memory, by several threads if they are large; other formats are read whole, once, and their tensors share
    /// that memory. [`ReadOptions::mapped`] lets tensors borrow from the file instead, for callers who can promise that
    /// nobody changes it.
    ///
    #[doc = include_str!("../docs/checkpoint_formats.md")]
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or is not a regular file (a directory, a device, a FIFO, a socket; links are followed);
    /// content that is damaged or in no known format; an index and shards with different keys; a directory with several
    /// checkpoints or none.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(path, &ReadOptions::new())
    }

    /// [`load`](Self::load) with options.
    ///
    /// # Errors
    ///
    /// Those of [`load`](Self::load), and an entry that the file does not have.
    pub fn load_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        read(path.as_ref(), options)
    }
}

/// Reads a file, the files that an index names, or the checkpoint in a directory.
fn read(path: &Path, options: &ReadOptions) -> Result<StateDict> {
    let within;
    let path = match path.is_dir() {
        true => {
            within = sharded::in_directory(path)?;
            &within
        }
        false => path,
    };
    let file = open(path, options)?;
    match is_index(file.start()) {
        true => sharded::read(path, &read_whole(path, file)?, options),
        false => read_by_format(path, file, options),
    }
}

/// Reads this content as [`StateDict::load_with`] reads a file at `path`; for fuzzing.
#[doc(hidden)]
pub fn read_bytes(path: &Path, bytes: Vec<u8>, options: &ReadOptions) -> Result<StateDict> {
    if is_index(&bytes) {
        return sharded::read(path, &bytes, options);
    }
    let reader = CheckpointReader::of_bytes(SharedBytes::new(bytes));
    bytes::read(
        path,
        reader.map_err(|error| file_error(path, error))?,
        options,
    )
}
