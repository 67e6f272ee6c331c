//! Directories with a model's configuration and weights, as libraries publish them.

use std::fmt;
use std::path::Path;

use module_nn::checkpoint::read_text;
use module_nn::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// More bytes of a file are not read: configurations have thousands, vocabularies some millions.
const LONGEST: u64 = 1 << 28;

/// A model that its library publishes as a directory with a configuration and weights.
pub trait Pretrained: Module + Sized {
    /// The library's `config.json`.
    type Config: DeserializeOwned;

    /// Keys of older files that nothing reads.
    const UNUSED_KEYS: &'static [&'static str] = &[];

    /// A network with fresh weights.
    ///
    /// # Errors
    ///
    /// Sizes that are 0, do not divide or exceed memory; an argument that the model has no choice of.
    fn new(config: &Self::Config) -> Result<Self>;

    /// The network of a directory with `config.json` and weights. Nothing is drawn, and it is in evaluation mode.
    ///
    /// # Errors
    ///
    /// Those of [`read_config`], [`new`](Self::new) and [`read_weights`]; keys or shapes that are not exactly the model's.
    fn from_pretrained(dir: impl AsRef<Path>) -> Result<Self> {
        let config = read_config(&dir)?;
        let mut weights = read_weights(dir)?;
        for key in Self::UNUSED_KEYS {
            weights.remove(key);
        }
        Self::from_weights(&config, &weights)
    }

    /// The network of a configuration with these weights, as [`from_pretrained`](Self::from_pretrained) makes it.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new); keys or shapes that are not exactly the model's.
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
/// A file that cannot be read, or does not hold such a value.
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
/// As [`read_json`].
pub fn read_config<C: DeserializeOwned>(dir: impl AsRef<Path>) -> Result<C> {
    read_json(dir.as_ref().join("config.json"))
}

/// The weights of a directory: its only file of weights, whatever its name (`netG.pth`,
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

/// An argument of a configuration that a model has no choice of, or does not know.
#[derive(Clone, Debug)]
pub struct UnsupportedArgument {
    /// The model.
    pub model: &'static str,
    /// The argument's name.
    pub name: String,
    /// What the configuration says.
    pub value: Value,
    /// What the model has, if it knows the argument.
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

/// Refuses what a configuration asks for beside the fields that a model reads: each of the `rest` must be in `only`,
/// with that value, or with any where it is said as `IGNORED`.
///
/// # Errors
///
/// [`UnsupportedArgument`], found by `downcast_ref`: the first argument that is unknown, or has another value than the model
/// has.
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

/// In [`check_rest`], what changes nothing of what a model computes.
pub const IGNORED: &str = "(anything)";
