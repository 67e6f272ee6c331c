//! Directories with a model's configuration and weights, as libraries publish them.

use std::fmt;
use std::path::Path;

use module_nn::checkpoint::read_text;
use module_nn::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Larger files are not read: configurations have thousands of bytes, vocabularies a few million.
const LONGEST: u64 = 1 << 28;

/// A model that its library publishes as a directory with a configuration and weights.
pub trait Pretrained: Module + Sized {
    /// The library's `config.json`.
    type Config: DeserializeOwned;

    /// Keys of older files that are not used.
    const UNUSED_KEYS: &'static [&'static str] = &[];

    /// Builds a network with fresh weights.
    ///
    /// # Errors
    ///
    /// Sizes that are 0, do not divide or exceed memory; an argument with a value that the model does not support.
    fn new(config: &Self::Config) -> Result<Self>;

    /// Reads the network from a directory with `config.json` and weights. No values are drawn, and it is in evaluation
    /// mode.
    ///
    /// # Errors
    ///
    /// Those of [`read_config`], [`new`](Self::new) and [`read_weights`]; keys or shapes that do not match the model
    /// exactly.
    fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        let config = read_config(&dir)?;
        let mut weights = read_weights(dir)?;
        for key in Self::UNUSED_KEYS {
            weights.remove(key);
        }
        Self::from_weights(&config, &weights)
    }

    /// Builds the network from a configuration and these weights, like [`from_pretrained`](Self::from_pretrained).
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new); keys or shapes that do not match the model exactly.
    fn from_weights(config: &Self::Config, weights: &StateDict) -> Result<Self> {
        let model = deferred(|| Self::new(config))?;
        let _ = model.load_state_dict(weights)?;
        model.eval();
        Ok(model)
    }
}

/// Reads a JSON file.
///
/// # Errors
///
/// A file that cannot be read or does not contain such a value.
pub fn read_json<C: DeserializeOwned>(path: impl AsRef<Path>) -> Result<C> {
    let path = path.as_ref();
    let named = |problem: String| Error::custom(format!("{}: {problem}", path.display()));
    let text = read_text(path, LONGEST).map_err(|error| named(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| named(error.to_string()))
}

/// Reads the `config.json` of a directory.
///
/// # Errors
///
/// Those of [`read_json`].
pub fn read_config<C: DeserializeOwned>(dir: impl AsRef<Path>) -> Result<C> {
    read_json(dir.as_ref().join("config.json"))
}

/// Reads the weights of a directory: its only weight file, whatever its name (`netG.pth`,
/// `diffusion_pytorch_model.safetensors`), or the file or the shards with the names that [`StateDict::load`] knows.
///
/// # Errors
///
/// Those of reading the files.
pub fn read_weights(dir: impl AsRef<Path>) -> Result<StateDict> {
    let dir = dir.as_ref();
    let files = std::fs::read_dir(dir)
        .map_err(|error| Error::custom(format!("{}: {error}", dir.display())))?
        .filter_map(|file| Some(file.ok()?.path()));
    let is_weights = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("safetensors" | "bin" | "pth" | "pt"))
    };
    let weights: Vec<_> = files.filter(|path| is_weights(path)).collect();
    match &weights[..] {
        [file] => StateDict::load(file),
        _ => StateDict::load(dir),
    }
}

/// An argument of a configuration with a value that a model does not support, or that it does not know.
#[derive(Clone, Debug)]
pub struct UnsupportedArgument {
    /// The model.
    pub model: &'static str,
    /// The argument's name.
    pub name: String,
    /// The value in the configuration.
    pub value: Value,
    /// The value of the model, if it knows the argument.
    pub supported: Option<Value>,
}

impl fmt::Display for UnsupportedArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} = {}: ", self.model, self.name, self.value)?;
        match &self.supported {
            Some(supported) => write!(f, "this model has {supported} only"),
            None => f.write_str("this model does not know the argument"),
        }
    }
}

impl std::error::Error for UnsupportedArgument {}

/// Refuses arguments of a configuration other than the fields that a model reads: each of the `rest` must be in `only` with
/// the same value, or with any value if it is `IGNORED` there.
///
/// # Errors
///
/// [`UnsupportedArgument`], which `downcast_ref` finds: the first argument that is unknown, or differs from the model's
/// value.
pub fn check_rest(
    model: &'static str,
    rest: &Map<String, Value>,
    only: &[(&str, Value)],
) -> Result<()> {
    for (name, value) in rest {
        let supported = only.iter().find(|(known, _)| known == name);
        let supported = supported.map(|(_, supported)| supported);
        let is_same = |only: &Value| {
            let is_number = only.is_number() && only.as_f64() == value.as_f64();
            only == IGNORED || only == value || is_number
        };
        if !supported.is_some_and(is_same) {
            return Err(Error::custom(UnsupportedArgument {
                model,
                name: name.clone(),
                value: value.clone(),
                supported: supported.cloned(),
            }));
        }
    }
    Ok(())
}

/// In [`check_rest`], marks arguments that do not change what a model computes.
pub const IGNORED: &str = "(anything)";
