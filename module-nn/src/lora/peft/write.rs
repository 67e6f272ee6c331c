//! Adapters of models for PEFT.

use module_core::{Module, Result, StateDict};

use super::super::adapters::{Adaptable, Held};
use super::super::error::LoraError;
use super::super::find::{Place, adapted, find, join};
use super::super::switch::adapter_names;
use super::adapter::PeftAdapter;
use super::config::PeftConfig;
use super::keys::KeyPaths;
use super::names::name_modules;

pub(super) fn of(model: &dyn Module, name: &str, prefix: &str) -> Result<PeftAdapter> {
    let mut layers = adapted(model);
    layers.retain(|(_, place)| held_of(place, name).is_some());
    let config = layers
        .iter()
        .find_map(|(_, place)| Some(held_of(place, name)?.states.get(name)?.config.clone()));
    let Some(lora) = config else {
        let (op, adapter) = ("save_pretrained", name.to_owned());
        let adapters = adapter_names(model);
        return Err(LoraError::NoSuchAdapter {
            op,
            adapter,
            adapters,
        }
        .into());
    };
    let is_saved =
        |place: &Place<'_>| held_of(place, name).is_some_and(|held| held.saved.contains_key(name));
    let (saved, matched): (Vec<_>, Vec<_>) = layers.iter().partition(|(_, place)| is_saved(place));
    let paths = |layers: &[&(String, Place<'_>)]| -> Vec<String> {
        layers.iter().map(|(path, _)| path.clone()).collect()
    };
    let (saved, matched_paths) = (paths(&saved), paths(&matched));
    let projects = matched
        .iter()
        .filter(|(_, place)| place.adaptable() == Adaptable::InProjection);
    let wrapped: Vec<&str> = projects.map(|(path, _)| path.as_str()).collect();

    let found = find(model);
    let mut targets = matched_paths.clone();
    // PEFT adapts it with the rest of the attention layer.
    targets.retain(|path| {
        !wrapped
            .iter()
            .any(|attention| *path == join(attention, "out_proj"))
    });
    let prefixed = |path: &str| format!("{prefix}{path}");
    let targets: Vec<String> = targets.iter().map(|path| prefixed(path)).collect();
    let others = found.iter().filter(|found| !saved.contains(&found.path));
    let all: Vec<String> = others.map(|found| prefixed(&found.path)).collect();
    let [targets, all] =
        [&targets, &all].map(|paths| paths.iter().map(String::as_str).collect::<Vec<_>>());

    let mut config = PeftConfig::new(name_modules(&targets, &all), (*lora).clone());
    config.lora = config.lora_of(&matched_paths, |path| (path.to_owned(), prefixed(path)));

    let key_paths = KeyPaths { prefix, wrapped };
    let mut tensors = StateDict::new();
    let own = layers
        .iter()
        .filter_map(|(path, place)| Some((path, held_of(place, name)?)));
    let own = own.flat_map(|(path, held)| key_paths.adapter(path, name, held));
    let biases = key_paths.biases(&found, lora.bias, &matched_paths, &saved);
    for entry in own.chain(biases) {
        if let Some(key) = entry.keys.into_iter().next() {
            tensors.insert(key, entry.parameter.detach());
        }
    }
    Ok(PeftAdapter { config, tensors })
}

/// What a layer holds, if it has the adapter.
fn held_of<'a>(place: &Place<'a>, name: &str) -> Option<&'a Held> {
    place.held().filter(|held| held.states.contains_key(name))
}
