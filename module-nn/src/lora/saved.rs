//! The meaning of `modules_to_save` in a model.

use module_core::{Result, Select};

use super::adapters::Adaptable;
use super::error::LoraError;
use super::find::{Found, is_within};

/// The modules that `modules_to_save` names.
pub(super) fn saved_roots(found: &[Found<'_>], names: &[String]) -> Result<Vec<String>> {
    let mut roots = Vec::new();
    for name in names {
        let is_named = |path: &&str| {
            *path == name
                || path
                    .strip_suffix(name.as_str())
                    .is_some_and(|rest| rest.ends_with('.'))
        };
        let modules = found.iter().filter(|found| !found.is_weight());
        let paths = modules.map(|found| found.path.as_str());
        let before = roots.len();
        roots.extend(paths.clone().filter(is_named).map(str::to_owned));
        if roots.len() == before {
            // The error has the nearest name.
            Select::path(name).resolve_modules(paths)?;
        }
    }
    Ok(roots)
}

/// The layers in these modules whose parameters can all be copied.
pub(super) fn saved_layers(found: &[Found<'_>], roots: &[String]) -> Result<Vec<String>> {
    let mut saved = Vec::new();
    for Found {
        path,
        module,
        place,
        parameters,
        ..
    } in found
    {
        if parameters.is_empty() || !roots.iter().any(|root| is_within(path, root)) {
            continue;
        }
        let own = place.map(|place| [place.weight, place.bias].iter().flatten().count());
        let copied = place.is_some_and(|place| place.adaptable() != Adaptable::InProjection);
        if !copied || own != Some(parameters.len()) {
            let (path, kind) = (path.clone(), module.kind());
            let reason =
                "its parameters cannot be copied for `modules_to_save`; unfreeze them instead"
                    .to_owned();
            return Err(LoraError::NotAdaptable { path, kind, reason }.into());
        }
        saved.push(path.clone());
    }
    Ok(saved)
}
