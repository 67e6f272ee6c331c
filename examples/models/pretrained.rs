//! Directories with a model's configuration and its weights, as libraries publish them.

use std::path::Path;

use module_nn::checkpoint::read_text;
use module_nn::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// More bytes of a file are not read: configurations have thousands, vocabularies some millions.
const LONGEST: u64 = 1 << 28;

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

/// Builds a model from the configuration of a directory and loads its weights, strictly. Nothing is drawn, and the model is
/// in evaluation mode.
///
/// # Errors
///
/// Those of [`read_config`], `build` and [`read_weights`]; keys or shapes that are not exactly the model's.
pub fn from_pretrained<C: DeserializeOwned, M: Module>(
    dir: impl AsRef<Path>,
    build: impl FnOnce(&C) -> Result<M>,
) -> Result<M> {
    from_pretrained_without(&[], dir, build)
}

/// [`from_pretrained`] without the weights of some keys, if there are such.
///
/// # Errors
///
/// As there.
pub fn from_pretrained_without<C: DeserializeOwned, M: Module>(
    keys: &[&str],
    dir: impl AsRef<Path>,
    build: impl FnOnce(&C) -> Result<M>,
) -> Result<M> {
    let dir = dir.as_ref();
    let config = read_config(dir)?;
    let mut weights = read_weights(dir)?;
    for key in keys {
        weights.remove(key);
    }
    from_weights(&config, &weights, build)
}

/// Builds a model from a configuration and loads its weights, as [`from_pretrained`] does.
///
/// # Errors
///
/// Those of `build`; keys or shapes that are not exactly the model's.
pub fn from_weights<C, M: Module>(
    config: &C,
    weights: &StateDict,
    build: impl FnOnce(&C) -> Result<M>,
) -> Result<M> {
    let model = deferred(|| build(config))?;
    let _ = model.load_state_dict(weights)?;
    model.eval();
    Ok(model)
}

/// Refuses what a configuration asks for beside the fields that a model reads: each of the `rest` must be in `only`,
/// with that value, or with any where it is said as `IGNORED`.
///
/// # Errors
///
/// The first argument that is unknown, or has another value than the model has.
pub fn check_rest(model: &str, rest: &Map<String, Value>, only: &[(&str, Value)]) -> Result<()> {
    for (name, value) in rest {
        let known = only.iter().find(|(known, _)| known == name);
        let problem = match known {
            Some((_, only)) if only == IGNORED || only == value => continue,
            Some((_, only)) if only.is_number() && only.as_f64() == value.as_f64() => continue,
            Some((_, only)) => format!("this model has {only} only"),
            None => "this model does not know the argument".to_owned(),
        };
        return Err(Error::custom(format!(
            "{model}: {name} = {value}: {problem}"
        )));
    }
    Ok(())
}

/// In [`check_rest`], what changes nothing of what a model computes.
pub const IGNORED: &str = "(anything)";
