use std::fs;
use std::io;
use std::path::Path;

use module_core::checkpoint::read_text;
use module_core::{Error, FileError, Module, Result, StateDict};

use super::super::add::LoraReport;
use super::adapter::PeftAdapter;
use super::config::PeftConfig;

const CONFIG: &str = "adapter_config.json";
const TENSORS: &str = "adapter_model.safetensors";
/// The maximum size of a configuration in bytes: one with a thousand patterns has about ten thousand.
const LONGEST: u64 = 1 << 24;
/// The files of older PEFT releases.
const PICKLED: &str = "adapter_model.bin";

/// Adds an adapter that PEFT saved to a model, with its values: `PeftModel.from_pretrained`.
///
/// The folder has an `adapter_config.json` and an `adapter_model.safetensors` or, from older releases, an
/// `adapter_model.bin`. [`PeftConfig`] and [`PeftAdapter::add_to`] describe what is read and what is refused; for a model
/// whose paths differ by a prefix, use [`PeftAdapter::load`] and [`PeftAdapter::add_to_prefixed`].
///
/// # Errors
///
/// Files that cannot be read, and those of [`PeftConfig::from_json`] and [`PeftAdapter::add_to`]. Then nothing is
/// changed.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig};
/// use module_nn::prelude::*;
///
/// #[derive(Module)]
/// struct Net {
///     hidden: Linear,
///     head: Linear,
/// }
///
/// let net = || -> Result<Net> { Ok(Net { hidden: Linear::new(4, 8)?, head: Linear::new(8, 2)? }) };
/// let mut trained = net()?;
/// lora::add_adapter(&mut trained, "default", "hidden", &LoraConfig::new().r(2))?;
///
/// let folder = std::env::temp_dir().join(format!("doc-adapter-{}", std::process::id()));
/// lora::save_pretrained(&trained, "default", &folder)?;
/// let report = lora::load_pretrained(&mut net()?, &folder, "mine")?;
/// assert_eq!(report.matched, ["hidden"]);
/// std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_pretrained<M: Module + ?Sized>(
    model: &mut M,
    folder: impl AsRef<Path>,
    name: &str,
) -> Result<LoraReport> {
    PeftAdapter::load(folder)?.add_to(model, name)
}

/// Writes an adapter of a model for PEFT: `model.save_pretrained(folder)`.
///
/// # Errors
///
/// Those of [`PeftAdapter::of`], and files that cannot be written.
///
/// # Example
///
/// ```
/// use module_nn::lora::{self, LoraConfig, PeftAdapter};
/// use module_nn::prelude::*;
///
/// let mut net = Sequential::new().push(Linear::new(4, 8)?).push(Linear::new(8, 2)?);
/// lora::add_adapter(&mut net, "default", "1", &LoraConfig::new().r(2))?;
/// let folder = std::env::temp_dir().join(format!("doc-saved-adapter-{}", std::process::id()));
/// lora::save_pretrained(&net, "default", &folder)?;
/// assert!(folder.join("adapter_model.safetensors").exists());
/// // The same in two steps, and back.
/// PeftAdapter::of(&net, "default")?.save(&folder)?;
/// assert_eq!(PeftAdapter::load(&folder)?.tensors.len(), 2);
/// std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_pretrained<M: Module + ?Sized>(
    model: &M,
    name: &str,
    folder: impl AsRef<Path>,
) -> Result<()> {
    PeftAdapter::of(model, name)?.save(folder)
}

impl PeftAdapter {
    /// Reads the two files in a folder.
    ///
    /// # Errors
    ///
    /// Files that cannot be read, and those of [`PeftConfig::from_json`].
    pub fn load(folder: impl AsRef<Path>) -> Result<Self> {
        load(folder.as_ref())
    }

    /// Writes the two files to a folder, which is created if necessary. Each file is replaced as a whole, first the
    /// tensors, then the configuration.
    ///
    /// # Errors
    ///
    /// A folder or file that cannot be written.
    pub fn save(&self, folder: impl AsRef<Path>) -> Result<()> {
        save(self, folder.as_ref())
    }
}

fn load(folder: &Path) -> Result<PeftAdapter> {
    let path = folder.join(CONFIG);
    let json = read_text(&path, LONGEST).map_err(|source| file_error(&path, source))?;
    let config = PeftConfig::from_json(&json)?;
    let [path, pickled] = [TENSORS, PICKLED].map(|name| folder.join(name));
    let path = match !path.exists() && pickled.exists() {
        true => pickled,
        false => path,
    };
    let tensors = StateDict::load(path)?;
    Ok(PeftAdapter { config, tensors })
}

fn save(adapter: &PeftAdapter, folder: &Path) -> Result<()> {
    let json = adapter.config.to_json()?;
    fs::create_dir_all(folder).map_err(|source| file_error(folder, source))?;
    adapter.tensors.save(folder.join(TENSORS))?;
    let path = folder.join(CONFIG);
    let temporary = folder.join(format!(".{CONFIG}-{}", std::process::id()));
    let written = fs::write(&temporary, json).and_then(|()| fs::rename(&temporary, &path));
    written.map_err(|source| {
        // A leftover file is useless, and the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        file_error(&path, source)
    })
}

fn file_error(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    FileError::File { path, source }.into()
}
