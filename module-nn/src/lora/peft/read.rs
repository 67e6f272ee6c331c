//! Reads PEFT's adapters into models.

use module_core::{LoadProblems, Mismatch, Module, Result, Select, StateDict, Tensor};

use super::super::add::{Layers, LoraReport, Plan, Values, add_filled};
use super::super::config::{LoraBias, LoraConfig};
use super::super::find::find;
use super::adapter::PeftAdapter;
use super::keys::{BASE, Entry, KeyPaths};
use super::names::{Rule, TargetModules};

pub(super) fn add_to(
    adapter: &PeftAdapter,
    model: &mut dyn Module,
    name: &str,
    prefix: &str,
) -> Result<LoraReport> {
    let mut config = adapter.config.clone();
    name_saved(&mut config.lora, model, prefix);
    let mut paths = config.paths(model, prefix)?;
    if config.target_modules.is_all_linear() {
        paths.retain(|path| !is_left_head(path, prefix, &adapter.tensors));
    }
    let lora = config.lora_of(&paths, |path| (format!("{prefix}{path}"), path.to_owned()));
    let select: Select = paths.iter().map(Select::path).collect();
    add_filled(model, name, &select, &lora, &|model, plan, layers| {
        fill(
            model,
            name,
            prefix,
            plan,
            layers,
            lora.bias,
            &adapter.tensors,
        )
    })
}

/// Whether a linear layer is an output head that PEFT has left out of `all-linear`.
fn is_left_head(path: &str, prefix: &str, tensors: &StateDict) -> bool {
    let is_head = Rule::new(&TargetModules::Names(vec![
        "lm_head".to_owned(),
        "embed_out".to_owned(),
    ]))
    .is_ok_and(|rule| rule.matches(path));
    is_head && !tensors.contains_key(&format!("{BASE}{prefix}{path}.lora_A.weight"))
}

/// Keeps only the names of `modules_to_save` that the model has. PEFT compares ends of paths without regard to dots.
fn name_saved(lora: &mut LoraConfig, model: &dyn Module, prefix: &str) {
    let found = find(model);
    let paths = found
        .iter()
        .filter(|found| !found.is_weight())
        .map(|found| found.path.as_str())
        .filter(|path| !path.is_empty());
    let ends = |path: &str, name: &String| format!("{prefix}{path}").ends_with(name.as_str());
    lora.modules_to_save
        .retain(|name| paths.clone().any(|path| ends(path, name)));
    let names = TargetModules::Names(lora.modules_to_save.clone());
    let is_named = |path: &str| Rule::new(&names).is_ok_and(|rule| rule.matches(path));
    let meant: Vec<&str> = paths
        .filter(|path| lora.modules_to_save.iter().any(|name| ends(path, name)))
        .collect();
    if !meant.iter().all(|path| is_named(path)) {
        lora.modules_to_save = meant.into_iter().map(str::to_owned).collect();
    }
}

/// Sets the values of the new adapter, and returns those of the model's own parameters.
fn fill(
    model: &dyn Module,
    name: &str,
    prefix: &str,
    plan: &Plan,
    layers: &Layers,
    bias: LoraBias,
    tensors: &StateDict,
) -> Result<Values> {
    let found = find(model);
    let key_paths = KeyPaths::new(prefix, &found, &plan.matched);
    let mut entries = key_paths.biases(&found, bias, &plan.matched, &plan.saved);
    for (path, fresh) in layers {
        entries.extend(key_paths.adapter(path, name, &fresh.held));
    }
    let values = find_values(model.kind(), &entries, tensors)?;
    let mut own = Vec::new();
    for (entry, value) in entries.iter().zip(values) {
        match (value, &entry.own) {
            (None, _) => {}
            (Some(value), Some(path)) => own.push((path.clone(), value)),
            (Some(value), None) => entry.parameter.set(value)?,
        }
    }
    Ok(own)
}

/// The value of each entry, in the dtype and on the device of its parameter.
fn find_values(
    module: &'static str,
    entries: &[Entry<'_>],
    tensors: &StateDict,
) -> Result<Vec<Option<Tensor>>> {
    let mut problems = LoadProblems {
        module,
        total: entries.iter().filter(|entry| entry.required).count(),
        ..LoadProblems::default()
    };
    let mut values = Vec::with_capacity(entries.len());
    for entry in entries {
        let found = entry
            .keys
            .iter()
            .find_map(|key| Some((key, tensors.get(key)?)));
        let value = match found {
            Some((_, tensor)) if *tensor.shape() == entry.parameter.shape() => {
                let parameter = entry.parameter.detach();
                problems.loaded += usize::from(entry.required);
                Some(
                    tensor
                        .to_dtype(parameter.dtype())?
                        .to_device(&parameter.device())?,
                )
            }
            Some((key, tensor)) => {
                problems.mismatched.push(Mismatch {
                    key: key.clone(),
                    found: tensor.shape().clone(),
                    expected: entry.parameter.shape().clone(),
                });
                None
            }
            None => {
                let missing = entry.keys.first().filter(|_| entry.required);
                problems.missing.extend(missing.cloned());
                None
            }
        };
        values.push(value);
    }
    let known = |key: &str| {
        entries
            .iter()
            .any(|entry| entry.keys.iter().any(|own| own == key))
    };
    let unexpected = tensors.keys().filter(|key| !known(key));
    problems.unexpected = unexpected.map(str::to_owned).collect();
    match problems.is_empty() {
        true => Ok(values),
        false => Err(problems.into()),
    }
}
