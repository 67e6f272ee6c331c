//! Several files with an index, as Hugging Face's tools write them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::format_error::damaged;
use super::formats::read_by_format;
use super::open::open;
use super::output::file_error;
use super::safetensors::{StringMap, Unique, add_ties, in_order, without_ties, write_tensors};
use super::sorted::Sorted;
use super::{ReadOptions, atomic, directory};
use crate::{Error, Result, StateDict, Tensor};
use module_tensor::error::quote;

const FILE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// The checkpoints that a directory may hold, as one file and as an index; older ones are pickles.
const PLACES: [(&str, &str); 2] = [
    (FILE, INDEX),
    ("pytorch_model.bin", "pytorch_model.bin.index.json"),
];

/// The name of an index in errors.
const FORMAT: &str = "index of shards";

/// The file or index that a directory holds.
pub(super) fn in_directory(path: &Path) -> Result<PathBuf> {
    for (file, index) in PLACES {
        let (file, index) = (path.join(file), path.join(index));
        match (file.is_file(), index.is_file()) {
            (true, true) => {
                let problem = "it holds a file and an index; name the one that is meant";
                return Err(damaged(path, "checkpoint", problem.to_owned()));
            }
            (true, false) => return Ok(file),
            (false, true) => return Ok(index),
            (false, false) => {}
        }
    }
    let names: Vec<&str> = PLACES.iter().flat_map(|(f, i)| [*f, *i]).collect();
    let problem = format!("the directory holds none of: {}", names.join(", "));
    Err(damaged(path, "checkpoint", problem))
}

#[derive(Deserialize)]
struct Index {
    /// Tied names are strings; the size is a number, and other tools add other values.
    #[serde(default)]
    metadata: Option<Unique<Box<RawValue>>>,
    weight_map: Unique<String>,
}

/// Reads the files that an index names. Each must hold exactly the keys that the index assigns to it.
pub(super) fn read(path: &Path, index: &[u8], options: &ReadOptions) -> Result<StateDict> {
    let damaged = |problem| damaged(path, FORMAT, problem);
    let text = str::from_utf8(index).map_err(|e| damaged(e.to_string()))?;
    let index: Index = serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
    let Unique(places) = index.weight_map;
    let mut files: Vec<&str> = places.values().map(String::as_str).collect();
    files.sort();
    let files = files.chunk_by(|a, b| a == b);
    for file in files.clone() {
        directory::check_name(file[0]).map_err(damaged)?;
    }
    let mut state = StateDict::new();
    for file in files {
        let (file, count) = (file[0], file.len());
        let shard = path.with_file_name(file);
        let held = read_by_format(&shard, open(&shard, options)?, options)?;
        for (key, tensor) in held.iter() {
            match places.get(key) {
                Some(place) if place == file => state.insert(key, tensor.clone()),
                Some(place) => {
                    let (key, place) = (quote(key), quote(place));
                    let problem =
                        format!("`{key}` is to be in \"{place}\", and is in \"{file}\" too");
                    return Err(damaged(problem));
                }
                None => {
                    let key = quote(key);
                    let problem = format!("\"{file}\" holds `{key}`, which is not in the index");
                    return Err(damaged(problem));
                }
            };
        }
        if held.len() != count {
            let mut listed = places.iter().filter(|(_, place)| *place == file);
            let absent = listed.find(|(key, _)| !held.contains_key(key));
            let key = absent.map_or("", |(key, _)| key);
            let key = quote(key);
            return Err(damaged(format!("\"{file}\" does not hold `{key}`")));
        }
    }
    let Unique(metadata) = index.metadata.unwrap_or_default();
    let texts = metadata.into_iter().filter_map(|(name, value)| {
        // Values that are not strings have another meaning.
        let value: String = serde_json::from_str(value.get()).ok()?;
        Some((name, value))
    });
    add_ties(&mut state, texts.collect());
    Ok(state)
}

#[derive(Serialize)]
struct NewIndex<'a> {
    metadata: NewMetadata<'a>,
    weight_map: Sorted<'a, &'a str>,
}

#[derive(Serialize)]
struct NewMetadata<'a> {
    total_size: usize,
    #[serde(flatten)]
    ties: Sorted<'a, &'a str>,
}

pub(super) fn write(state: &StateDict, path: &Path, max_shard_size: usize) -> Result<()> {
    const OP: &str = "save_sharded";
    if max_shard_size == 0 {
        let problem = "a shard needs room for elements";
        return Err(Error::argument(OP, "max_shard_size", 0, problem));
    }
    let at = |error| file_error(path, error);
    directory::make(path).map_err(at)?;
    atomic::remove_stale_temporaries(path);
    if path.join(FILE).symlink_metadata().is_ok() {
        let problem =
            format!("it holds {FILE}, which readers take for the whole; remove that first");
        return Err(Error::argument(OP, "directory", path.display(), problem));
    }
    let state = state.for_files()?;
    let (tensors, ties) = without_ties(&state);
    let total_size = tensors.iter().map(|(_, tensor)| size(tensor)).sum();
    let shards = split(tensors, max_shard_size);
    let names = |generation| {
        (1..=shards.len())
            .map(|i| name(generation, i, shards.len()))
            .collect()
    };
    let names = directory::free_names(path, names).map_err(at)?;
    let mut weight_map = Vec::new();
    for (shard, name) in shards.into_iter().zip(&names) {
        weight_map.extend(shard.iter().map(|(key, _)| (*key, name.as_str())));
        let none = StringMap::new();
        atomic::write_part(&path.join(name), |output| {
            write_tensors(shard, none, output)
        })?;
    }
    atomic::sync_directory(path).map_err(at)?;
    let ties = in_order(&ties);
    let weight_map = Sorted::new(weight_map.into_iter());
    let metadata = NewMetadata { total_size, ties };
    let index = NewIndex {
        metadata,
        weight_map,
    };
    let mut text = serde_json::to_vec_pretty(&index).map_err(Error::custom)?;
    text.push(b'\n');
    atomic::write(&path.join(INDEX), |output| output.bytes(&text))?;
    directory::remove_unreferenced(path, &names, is_shard);
    Ok(())
}

fn size(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.dtype().size_in_bytes()
}

/// The shards that `huggingface_hub` makes: tensors in order, each in the current shard if it fits; a tensor that is too
/// large for any shard is alone in its own.
fn split<'a>(
    tensors: Vec<(&'a str, &'a Tensor)>,
    max_shard_size: usize,
) -> Vec<Vec<(&'a str, &'a Tensor)>> {
    let (mut shards, mut current, mut filled) = (Vec::new(), Vec::new(), 0);
    for (key, tensor) in tensors {
        let size = size(tensor);
        if size > max_shard_size {
            shards.push(vec![(key, tensor)]);
            continue;
        }
        if size > max_shard_size - filled {
            shards.push(std::mem::take(&mut current));
            filled = 0;
        }
        current.push((key, tensor));
        filled += size;
    }
    if !current.is_empty() {
        shards.push(current);
    }
    shards
}

/// Hugging Face's name for a shard, with a number if there were already files of that name.
fn name(generation: usize, i: usize, n: usize) -> String {
    match generation {
        0 => format!("model-{i:05}-of-{n:05}.safetensors"),
        _ => format!("model.{generation}-{i:05}-of-{n:05}.safetensors"),
    }
}

/// Whether a file name is one that [`name`] gives shards.
fn is_shard(file: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let parts = || {
        let rest = file.strip_prefix("model")?.strip_suffix(".safetensors")?;
        let (generation, rest) = rest.split_once('-')?;
        let (i, n) = rest.split_once("-of-")?;
        let generation = generation.is_empty() || number(generation.strip_prefix('.')?);
        Some(generation && number(i) && number(n) && i.len() >= 5 && n.len() >= 5)
    };
    parts().unwrap_or(false)
}
