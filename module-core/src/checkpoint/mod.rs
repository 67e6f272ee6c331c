//! Checkpoint files: one file each for a format, behind one trait.

mod atomic;
mod mapping;
mod npy;
mod npz;
mod options;
mod output;
mod pickle;
mod safetensors;
mod source;
mod swap;
mod torch_legacy;
mod torch_zip;
mod words;
mod zip;

use std::path::Path;

pub use options::ReadOptions;
use output::file_error;
use source::Source;

use crate::{Error, ErrorKind, Result, StateDict};

/// A file format of state dicts that is read; what is written is safetensors.
trait Format: Sync {
    /// What errors call it.
    fn name(&self) -> &'static str;

    /// Whether a file that starts with these bytes is of this format.
    fn matches(&self, start: &[u8]) -> bool;

    /// Reads a whole file; the error says what is wrong with it. Formats that nest tensors, as
    /// `{"model": …, "epoch": …}`, read those under `entry`, a path of keys joined by dots.
    fn read(&self, source: &Source, entry: Option<&str>) -> Result<StateDict, String>;
}

/// Every format, asked in this order.
static FORMATS: [&dyn Format; 4] = [
    &safetensors::Safetensors,
    &npz::Npz,
    &torch_zip::TorchZip,
    &torch_legacy::TorchLegacy,
];

impl StateDict {
    /// Writes a safetensors file that PyTorch's `safetensors.torch.load_file` reads.
    ///
    /// The file is written whole beside the old one, forced to the disk and moved into its place,
    /// so that a crash at any moment leaves one or the other. Tied tensors are written once; the
    /// metadata names the others, as `safetensors.torch.save_model` does.
    ///
    /// # Errors
    ///
    /// A directory that does not exist or cannot be written, a full disk.
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
        atomic::write(path.as_ref(), |output| safetensors::write(self, output))
    }

    /// Reads a checkpoint file, whose format is told by its content.
    ///
    /// The file is mapped into memory and tensors borrow from it, so that opening a large one takes
    /// no time and its parts are read as they are used. It may be replaced or removed meanwhile, but
    /// nobody may write into it or shorten it: see [`ReadOptions::mmap`].
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or whose content is damaged or of no known format.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::load_with(path, &ReadOptions::new())
    }

    /// [`load`](Self::load) with options.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load), and an entry that the file does not have.
    pub fn load_with(path: impl AsRef<Path>, options: &ReadOptions) -> Result<Self> {
        read(path.as_ref(), options)
    }
}

fn read(path: &Path, options: &ReadOptions) -> Result<StateDict> {
    let source = Source::open(path, options.mmap).map_err(|error| file_error(path, error))?;
    let format = FORMATS
        .into_iter()
        .find(|format| format.matches(source.bytes()))
        .ok_or_else(|| {
            let names: Vec<_> = FORMATS.iter().map(|format| format.name()).collect();
            let problem = format!("the content is none of: {}", names.join(", "));
            damaged(path, "checkpoint", problem)
        })?;
    format
        .read(&source, options.entry.as_deref())
        .map_err(|problem| damaged(path, format.name(), problem))
}

/// The error for a file whose content is not what it should be.
fn damaged(path: &Path, format: &'static str, problem: String) -> Error {
    let path = path.to_owned();
    ErrorKind::Format {
        path,
        format,
        problem,
    }
    .into()
}

#[cfg(test)]
mod tests;
