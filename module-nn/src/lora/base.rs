//! The frozen model behind the adapters.

use module_core::{Module, ModuleExt, Result, Select, Walk};

use super::config::LoraBias;
use super::find::{Found, adapted, find, join};

/// The paths of the biases that stay trained.
pub(super) fn trained_biases(
    model: &dyn Module,
    matched: &[String],
    bias: LoraBias,
) -> Vec<String> {
    let mut trained = Vec::new();
    for found in find(model) {
        let wanted = match bias {
            LoraBias::None => false,
            LoraBias::All => true,
            LoraBias::LoraOnly => found.is_adapted(matched),
        };
        let biases = found
            .parameters
            .iter()
            .filter(|(name, _)| name.contains("bias"));
        trained.extend(
            biases
                .filter(|_| wanted)
                .map(|(name, _)| join(&found.path, name)),
        );
    }
    trained
}

/// The adapter of a model that trains biases, at most one, and the paths of these biases.
pub(super) fn bias_trainer(model: &dyn Module) -> Option<(String, Vec<String>)> {
    let layers = adapted(model);
    let held = || {
        let layers = layers.iter();
        layers.filter_map(|(path, place)| Some((path, place.held()?)))
    };
    let mut states = held().flat_map(|(_, held)| &held.states);
    let (name, state) = states.find(|(_, state)| state.config.bias != LoraBias::None)?;
    let matched = held().filter(|(_, held)| held.states.contains_key(name));
    let matched: Vec<String> = matched.map(|(path, _)| path.clone()).collect();
    let biases = trained_biases(model, &matched, state.config.bias);
    Some((name.clone(), biases))
}

/// Freezes everything that belongs to no adapter, except some biases, which are trained, and others, which are left alone.
pub(super) fn freeze_base(model: &dyn Module, trained: &[String], kept: &[String]) -> Result<()> {
    let mut base: Vec<String> = Vec::new();
    for Found { path, module, .. } in find(model).into_iter().filter(|found| !found.is_weight()) {
        let own = Walk::new().recurse(false).remove_duplicate(false);
        let parameters = module
            .named_parameters_with(own.clone())
            .map(|(name, _)| name);
        let buffers = module.named_buffers_with(own).map(|(name, _)| name);
        base.extend(parameters.chain(buffers).map(|name| join(&path, &name)));
    }
    base.retain(|path| !trained.contains(path) && !kept.contains(path));
    if !base.is_empty() {
        model.freeze(Select::by(move |path| base.iter().any(|own| own == path)))?;
    }
    for path in trained {
        model.get_parameter(path)?.unfreeze();
    }
    Ok(())
}
