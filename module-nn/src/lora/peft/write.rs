//! Writes the adapters of models for PEFT.

use module_core::{Module, Result, StateDict};

use super::super::adapters::Held;
use super::super::config::InitLoraWeights;
use super::super::error::LoraError;
use super::super::find::{Found, Place, adapted, find, join};
use super::super::switch::adapter_names;
use super::adapter::PeftAdapter;
use super::config::PeftConfig;
use super::error::PeftError;
use super::keys::KeyPaths;
use super::names::{name_modules, names_end};

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
    if let InitLoraWeights::PissaNiter(_) = lora.init_lora_weights {
        let problem = "PEFT draws other weights for it when it reads the adapter; save the model's state dict instead, \
                       which has those that it is for";
        let value = format!("\"{}\"", lora.init_lora_weights);
        return Err(PeftError::field("init_lora_weights", value, problem));
    }
    let is_saved =
        |place: &Place<'_>| held_of(place, name).is_some_and(|held| held.saved.contains_key(name));
    let (saved, matched): (Vec<_>, Vec<_>) = layers.iter().partition(|(_, place)| is_saved(place));
    let paths = |layers: &[&(String, Place<'_>)]| -> Vec<String> {
        layers.iter().map(|(path, _)| path.clone()).collect()
    };
    let (saved, matched_paths) = (paths(&saved), paths(&matched));
    let found = find(model);
    let key_paths = KeyPaths::new(prefix, &found, &matched_paths);
    let prefixed = |found: &Found<'_>| format!("{prefix}{}", found.path);
    let (weights, modules): (Vec<&Found<'_>>, Vec<&Found<'_>>) =
        found.iter().partition(|found| found.is_weight());
    // PEFT adapts it with the rest of the attention layer.
    let is_out_proj = |path: &String| {
        let mut attention = key_paths.attention_layers().iter();
        attention.any(|attention| *path == join(attention, "out_proj"))
    };
    let targets = modules
        .iter()
        .filter(|found| matched_paths.contains(&found.path) && !is_out_proj(&found.path));
    let targets: Vec<String> = targets.map(|found| prefixed(found)).collect();
    let others = modules.iter().filter(|found| !saved.contains(&found.path));
    let all: Vec<String> = others.map(|found| prefixed(found)).collect();
    let [targets, all] =
        [&targets, &all].map(|paths| paths.iter().map(String::as_str).collect::<Vec<_>>());

    let mut config = PeftConfig::new(name_modules(&targets, &all), (*lora).clone());
    config.lora = config.lora_of(&matched_paths, |path| {
        (path.to_owned(), format!("{prefix}{path}"))
    });
    let (adapted_weights, other_weights): (Vec<&Found<'_>>, Vec<&Found<'_>>) = weights
        .into_iter()
        .partition(|found| matched_paths.contains(&found.path));
    config.target_parameters = adapted_weights
        .iter()
        .map(|found| prefixed(found))
        .collect();
    if let Some(other) = other_weights
        .iter()
        .find(|found| names_end(&config.target_parameters, &prefixed(found)))
    {
        let (path, value) = (
            prefixed(other),
            serde_json::to_string(&config.target_parameters),
        );
        let problem = format!(
            "it means `{path}` too, which is not adapted; adapt it, or give the model another prefix"
        );
        return Err(PeftError::field(
            "target_parameters",
            value.unwrap_or_default(),
            &problem,
        ));
    }

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

/// The contents of a layer, if it has the adapter.
fn held_of<'a>(place: &Place<'a>, name: &str) -> Option<&'a Held> {
    place.held().filter(|held| held.states.contains_key(name))
}
