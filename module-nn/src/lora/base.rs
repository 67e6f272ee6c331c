//! The model beside its adapters, which is frozen.

use module_core::{Module, ModuleExt, Result, Select, Walk};

use super::config::LoraBias;
use super::find::{Found, find, join};

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
            LoraBias::LoraOnly => matched.contains(&found.path),
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

/// Freezes what belongs to no adapter, but for some biases, which are trained.
pub(super) fn freeze_base(model: &dyn Module, trained: &[String]) -> Result<()> {
    let mut base: Vec<String> = Vec::new();
    for Found { path, module, .. } in find(model) {
        let own = Walk::new().recurse(false).remove_duplicate(false);
        let parameters = module
            .named_parameters_with(own.clone())
            .map(|(name, _)| name);
        let buffers = module.named_buffers_with(own).map(|(name, _)| name);
        base.extend(parameters.chain(buffers).map(|name| join(&path, &name)));
    }
    base.retain(|path| !trained.contains(path));
    if !base.is_empty() {
        model.freeze(Select::by(move |path| base.iter().any(|own| own == path)))?;
    }
    for path in trained {
        model.get_parameter(path)?.unfreeze();
    }
    Ok(())
}
