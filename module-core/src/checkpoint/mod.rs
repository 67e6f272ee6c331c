//! Checkpoint files: one file each for a format, behind one trait.

mod atomic;
mod npy;
mod npz;
mod pickle;
mod safetensors;
mod source;
mod swap;
mod torch_legacy;
mod torch_zip;
mod zip;

use std::path::Path;

use source::Source;

use crate::{ErrorKind, Result, StateDict};

/// A file format of state dicts.
trait Format: Sync {
    /// What errors call it.
    fn name(&self) -> &'static str;

    /// Whether a file that starts with these bytes is of this format.
    fn matches(&self, start: &[u8]) -> bool;

    /// Reads a whole file; the error says what is wrong with it. Formats that nest tensors, as
    /// `{"model": …, "epoch": …}`, read those under `entry`, a path of keys joined by dots.
    fn read(&self, source: &Source, entry: Option<&str>) -> Result<StateDict, String>;

    /// The bytes of a file.
    fn write(&self, _: &StateDict) -> Result<Result<Vec<u8>, String>> {
        Ok(Err("this format is read only".to_owned()))
    }
}

/// Every format, asked in this order; the first one is written.
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
        let path = path.as_ref();
        let [format, ..] = FORMATS;
        let bytes = format.write(self)?.map_err(|problem| ErrorKind::Format {
            path: path.to_owned(),
            format: format.name(),
            problem,
        })?;
        atomic::write(path, &bytes)
    }

    /// Reads a checkpoint file, whose format is told by its content.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or whose content is damaged or of no known format.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|source| ErrorKind::File {
            path: path.to_owned(),
            source,
        })?;
        let source = Source::new(bytes);
        let format = FORMATS
            .into_iter()
            .find(|format| format.matches(source.bytes()))
            .ok_or_else(|| {
                let names: Vec<_> = FORMATS.iter().map(|format| format.name()).collect();
                ErrorKind::Format {
                    path: path.to_owned(),
                    format: "checkpoint",
                    problem: format!("the content is none of: {}", names.join(", ")),
                }
            })?;
        format.read(&source, None).map_err(|problem| {
            let (path, format) = (path.to_owned(), format.name());
            ErrorKind::Format {
                path,
                format,
                problem,
            }
            .into()
        })
    }
}

#[cfg(test)]
mod tests;
