//! How the groups of an optimizer are saved.
//!
//! The options of group 0 are the value `config`, which optimizers without groups also have. The others are in `groups`,
//! their parameters in `group_parameters`, and the ratios of the learning rates in `lr_scales`, so that a schedule resumes
//! bit for bit.

use std::collections::{BTreeMap, HashMap};

use module_core::{Error, Result, Snapshot};
use serde::de::{DeserializeOwned, IgnoredAny};

use super::{ParamGroup, UpdateRule};

/// The content of a snapshot for a group.
pub(super) struct SavedGroup<O> {
    pub(super) options: O,
    pub(super) lr_scale: f64,
}

/// The name of a group in a snapshot.
fn name(number: usize) -> String {
    format!("group {number}")
}

/// The groups after the first with their names.
fn others<O>(groups: &[ParamGroup<O>]) -> impl Iterator<Item = (String, &ParamGroup<O>)> {
    let numbered = groups.iter().enumerate().skip(1);
    numbered.map(|(number, group)| (name(number), group))
}

/// The snapshot with the options of all groups.
pub(super) fn with_options<R: UpdateRule>(
    mut snapshot: Snapshot,
    groups: &[ParamGroup<R>],
) -> Result<Snapshot> {
    if let Some(first) = groups.first() {
        snapshot = snapshot.with("config", &first.options)?;
    }
    if groups.len() < 2 {
        return Ok(snapshot);
    }
    let options = others(groups).map(|(name, group)| (name, &group.options));
    snapshot.with("groups", &options.collect::<BTreeMap<_, _>>())
}

/// The snapshot with all information about groups.
pub(super) fn with_groups<R: UpdateRule>(
    snapshot: Snapshot,
    groups: &[ParamGroup<R>],
    lr_scales: &[f64],
) -> Result<Snapshot> {
    let snapshot = with_options(snapshot, groups)?;
    if groups.len() < 2 {
        return Ok(snapshot);
    }
    let parameters = others(groups).map(|(name, group)| (name, &group.parameters));
    snapshot
        .with("group_parameters", &parameters.collect::<BTreeMap<_, _>>())?
        .with("lr_scales", &lr_scales)
}

/// A value of a snapshot, or the default if the snapshot is from an optimizer without groups.
fn value<T: DeserializeOwned + Default>(snapshot: &Snapshot, name: &str) -> Result<T> {
    match snapshot.get::<IgnoredAny>(name) {
        Ok(_) => snapshot.get(name),
        Err(_) => Ok(T::default()),
    }
}

/// The content of a snapshot for each of these groups, which must divide the parameters as the snapshot's do, with the
/// first group first; the others may be in another order. `None` for a group without parameters.
///
/// `config` holds the options of its first group.
pub(super) fn read<R: UpdateRule>(
    snapshot: &Snapshot,
    config: R,
    groups: &[ParamGroup<R>],
) -> Result<Vec<Option<SavedGroup<R>>>> {
    let mut options: HashMap<String, R> = value(snapshot, "groups")?;
    let parameters: HashMap<String, Vec<String>> = value(snapshot, "group_parameters")?;
    let lr_scales: Vec<f64> = value(snapshot, "lr_scales")?;
    let mut saved = vec![config];
    let mut saved_number: HashMap<&str, usize> = HashMap::new();
    while let Some(options) = options.remove(&name(saved.len())) {
        let paths = parameters.get(&name(saved.len())).into_iter().flatten();
        saved_number.extend(paths.map(|path| (path.as_str(), saved.len())));
        saved.push(options);
    }
    let mut taken = vec![false; saved.len()];
    let mut found = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let in_state = |path: &String| saved_number.get(path.as_str()).copied().unwrap_or(0);
        let counterpart = match number {
            0 => Some(0),
            _ => group.parameters.first().map(in_state),
        };
        let was_taken = counterpart.and_then(|i| Some(std::mem::replace(taken.get_mut(i)?, true)));
        let is_other =
            |path: &&String| was_taken == Some(true) || counterpart != Some(in_state(path));
        if let Some(path) = group.parameters.iter().find(is_other) {
            let problem = format!(
                "it is in group {number} of this optimizer, and with other parameters in group {} of \
                 the state; build the optimizer with the groups that were saved",
                in_state(path)
            );
            return Err(Error::argument("load_state", "parameter", path, problem));
        }
        found.push(counterpart.and_then(|i| {
            Some(SavedGroup {
                options: saved.get(i)?.clone(),
                lr_scale: lr_scales.get(i).copied().unwrap_or(1.0),
            })
        }));
    }
    Ok(found)
}
