//! Which modules are gathered by themselves, and which parameters belong together.

use std::collections::BTreeSet;

use module_nn::prelude::*;
use module_nn::{IndexMap, TensorId};

/// A module whose parameters are gathered while it computes.
pub(super) struct FoundUnit<'m> {
    pub(super) path: String,
    pub(super) module: &'m dyn Module,
}

/// Parameters that the same units use, of one dtype and device: what one collective gathers.
pub(super) struct FoundGroup<'m> {
    /// The units, by number.
    pub(super) units: Vec<usize>,
    /// Each with its first path.
    pub(super) parameters: Vec<(String, &'m Parameter)>,
}

/// The units of a model: the modules that `select` matches, or without a selection the outermost ones with parameters of
/// their own; the model itself for all parameters that are in no other unit.
pub(super) fn find_units<'m>(
    model: &'m dyn Module,
    select: Option<&Select>,
) -> Result<Vec<FoundUnit<'m>>> {
    let every_path = Walk::new().remove_duplicate(false);
    let modules: Vec<(String, &dyn Module)> = model.named_modules_with(every_path).collect();
    if let Some(select) = select {
        select.resolve_modules(modules.iter().map(|(path, _)| path.as_str()))?;
    }
    let own = Walk::new().recurse(false);
    let mut units: Vec<FoundUnit<'m>> = Vec::new();
    let mut inside: Option<String> = None;
    for (path, module) in modules {
        let chosen = match select {
            Some(select) => select.matches(&path),
            None => {
                let nested = inside.as_ref().is_some_and(|unit| is_below(&path, unit));
                !nested && module.named_parameters_with(own.clone()).next().is_some()
            }
        };
        if !path.is_empty() && !chosen {
            continue;
        }
        if select.is_none() && !path.is_empty() {
            inside = Some(path.clone());
        }
        let known = units.iter().any(|unit| unit.module.id() == module.id());
        if !known {
            units.push(FoundUnit { path, module });
        }
    }
    Ok(units)
}

/// The groups of the parameters of a model.
pub(super) fn find_groups<'m>(
    model: &'m dyn Module,
    units: &[FoundUnit<'m>],
) -> Vec<FoundGroup<'m>> {
    let places = unit_paths(model, units);
    let mut users: IndexMap<TensorId, (String, &Parameter, BTreeSet<usize>)> = IndexMap::new();
    let every_path = Walk::new().remove_duplicate(false);
    for (path, parameter) in model.named_parameters_with(every_path) {
        let around = places.iter().filter(|(unit, _)| is_below(&path, unit));
        // The longest path is that of the innermost unit.
        let innermost = around.max_by_key(|(unit, _)| unit.len());
        let number = innermost.map_or(0, |(_, number)| *number);
        let entry = || (path.clone(), parameter, BTreeSet::new());
        let (_, _, units) = users.entry(parameter.id()).or_insert_with(entry);
        units.insert(number);
    }
    let mut groups: Vec<FoundGroup<'m>> = Vec::new();
    for (path, parameter, units) in users.into_values() {
        let units: Vec<usize> = units.into_iter().collect();
        let fits = |group: &&mut FoundGroup<'m>| {
            let first = group.parameters.first();
            let alike = |(_, first): &(String, &Parameter)| {
                first.dtype() == parameter.dtype() && first.device() == parameter.device()
            };
            group.units == units && first.is_some_and(alike)
        };
        let parameters = match groups.iter_mut().find(fits) {
            Some(group) => &mut group.parameters,
            None => {
                let parameters = Vec::new();
                groups.push(FoundGroup { units, parameters });
                match groups.last_mut() {
                    Some(group) => &mut group.parameters,
                    None => continue,
                }
            }
        };
        parameters.push((path, parameter));
    }
    groups
}

/// Every path of every unit, with its number.
fn unit_paths(model: &dyn Module, units: &[FoundUnit<'_>]) -> Vec<(String, usize)> {
    let every_path = Walk::new().remove_duplicate(false);
    let modules = model.named_modules_with(every_path);
    let number = |module: &dyn Module| {
        units
            .iter()
            .position(|unit| unit.module.id() == module.id())
    };
    let places = modules.filter_map(|(path, module)| Some((path, number(module)?)));
    places.collect()
}

/// Whether `path` is that of a module or of one of its members.
fn is_below(path: &str, module: &str) -> bool {
    let rest = path.strip_prefix(module);
    module.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
