use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::diff::same_values;
use super::entries::{Slot, entries};
use super::hooks::{AfterLoading, before_loading};
use super::{LoadOptions, LoadReport, StateDict};
use crate::hooks::any;
use crate::module::walk::modules;
use crate::module::{Module, TensorId, Walk};
use crate::{DType, ErrorKind, LoadProblems, Mismatch, Result, Select, Tensor};

/// Loads a state dict in two phases: everything is checked and cast, then everything is set.
/// On any error the module is as it was.
pub(crate) fn load(
    root: &dyn Module,
    state: &StateDict,
    options: &LoadOptions,
) -> Result<LoadReport> {
    let mut state = Cow::Borrowed(state);
    if let Some(rules) = &options.remap {
        state = Cow::Owned(state.remap(rules)?);
    }
    if any() {
        state = Cow::Owned(before_loading(root, state.into_owned(), options.strict)?);
    }
    let entries = entries(root)?;
    let plan = Plan::new(root, &entries, &state, options)?;
    let hooks = match any() {
        true => AfterLoading::of(root),
        false => AfterLoading::default(),
    };
    let mut problems = plan.refused(options);
    if !hooks.is_empty() && !plan.nothing_fits {
        // The hooks decide on these two.
        problems.missing.clear();
        problems.unexpected.clear();
    }
    if plan.nothing_fits || !problems.is_empty() {
        return Err(ErrorKind::Load(problems).into());
    }
    if hooks.is_empty() {
        return Ok(plan.run());
    }
    let kept: Vec<_> = entries
        .iter()
        .map(|(_, slot)| (*slot, slot.kept()))
        .collect();
    let mut report = plan.run();
    let result = hooks.run(&mut report).and_then(|()| {
        let (missing, unexpected) = (&report.missing, &report.unexpected);
        if options.strict && !(missing.is_empty() && unexpected.is_empty()) {
            (problems.missing, problems.unexpected) = (missing.clone(), unexpected.clone());
            return Err(ErrorKind::Load(problems).into());
        }
        Ok(())
    });
    if let Err(error) = result {
        kept.into_iter().for_each(|(slot, kept)| slot.restore(kept));
        return Err(error);
    }
    Ok(report)
}

/// What is to be set, and everything that is in the way.
struct Plan<'m> {
    values: Vec<(Slot<'m>, Tensor)>,
    loaded: Vec<String>,
    fresh: Vec<String>,
    problems: LoadProblems,
    nothing_fits: bool,
}

impl<'m> Plan<'m> {
    fn new(
        root: &dyn Module,
        entries: &[(String, Slot<'m>)],
        state: &StateDict,
        options: &LoadOptions,
    ) -> Result<Self> {
        let keys = || entries.iter().map(|(key, _)| key.as_str());
        let wanted = chosen(&options.select, keys())?;
        let is_wanted = |key: &str| wanted.as_ref().is_none_or(|wanted| wanted.contains(key));
        let turned = chosen(&options.transpose, keys())?.unwrap_or_default();
        let mut problems = LoadProblems {
            module: root.kind(),
            ..Default::default()
        };
        let (mut values, mut loaded) = (Vec::new(), Vec::new());
        let mut missing = Vec::new();
        let mut first_of_tie: HashMap<TensorId, (&str, Tensor)> = HashMap::new();
        for (key, slot) in entries.iter().filter(|(key, _)| is_wanted(key)) {
            let Some(found) = state.get(key) else {
                missing.push((key, *slot));
                continue;
            };
            let found = match found.rank() {
                2 if turned.contains(key.as_str()) => &found.t()?.contiguous()?,
                _ => found,
            };
            let Some(value) = fitted(found, *slot, options.assign_dtype)? else {
                let (found, expected) = (found.shape().clone(), slot.value().shape().clone());
                problems.mismatched.push(Mismatch {
                    key: key.clone(),
                    found,
                    expected,
                });
                continue;
            };
            loaded.push(key.clone());
            match first_of_tie.get(&slot.id()) {
                Some((first, other)) => {
                    if !same_values(&value, other)? {
                        problems.untied.push(((*first).to_owned(), key.clone()));
                    }
                }
                None => {
                    first_of_tie.insert(slot.id(), (key, value.clone()));
                    values.push((*slot, value));
                }
            }
        }
        // A tensor that came under another of its names is neither missing nor fresh.
        let came = |slot: Slot<'_>| first_of_tie.contains_key(&slot.id());
        for (key, slot) in missing {
            if !came(slot) && !is_batch_counter(key, &slot.value()) {
                problems.missing.push(key.clone());
            }
        }
        let fresh = entries
            .iter()
            .filter(|(key, slot)| !came(*slot) && (is_wanted(key) || !slot.value().has_values()));
        let known: HashSet<&str> = keys().collect();
        problems.unexpected = unexpected(root, &known, state);
        if let Some(select) = &options.select {
            problems.unexpected.retain(|key| select.covers(key));
        }
        Ok(Self {
            nothing_fits: loaded.is_empty() && !entries.is_empty() && !is_nothing(options),
            fresh: fresh.map(|(key, _)| key.clone()).collect(),
            values,
            loaded,
            problems,
        })
    }

    /// The problems that the options do not allow; what they allow is one if nothing fits.
    fn refused(&self, options: &LoadOptions) -> LoadProblems {
        let mut problems = self.problems.clone();
        if !self.nothing_fits {
            if !options.strict {
                problems.missing.clear();
                problems.unexpected.clear();
            }
            if options.allow_mismatch {
                problems.mismatched.clear();
            }
        }
        problems
    }

    /// The second phase, in which nothing can fail.
    fn run(self) -> LoadReport {
        for (slot, value) in self.values {
            slot.load(value);
        }
        let LoadProblems {
            missing,
            unexpected,
            mismatched,
            ..
        } = self.problems;
        LoadReport {
            fresh: self.fresh,
            loaded: self.loaded,
            missing,
            unexpected,
            mismatched,
        }
    }
}

/// The keys that an option selects, if it does.
fn chosen<'k>(
    select: &Option<Select>,
    keys: impl Iterator<Item = &'k str>,
) -> Result<Option<HashSet<&'k str>>> {
    let Some(select) = select else {
        return Ok(None);
    };
    Ok(Some(select.resolve(keys)?.into_iter().collect()))
}

/// Whether nothing is to be loaded, on purpose.
fn is_nothing(options: &LoadOptions) -> bool {
    options.select.as_ref().is_some_and(Select::is_none)
}

/// The keys of the state dict that the module lacks, in PyTorch's order: each belongs to the
/// innermost module on its path, modules come in the order of the tree, and the keys of one in the
/// order of the state dict.
fn unexpected(root: &dyn Module, known: &HashSet<&str>, state: &StateDict) -> Vec<String> {
    let unknown = state.keys().filter(|key| !known.contains(key));
    let mut unknown: Vec<&str> = unknown.collect();
    if unknown.len() > 1 {
        let every_path = Walk::new().remove_duplicate(false);
        let paths = modules(root, &every_path).into_iter().enumerate();
        let places: HashMap<String, usize> =
            paths.map(|(place, (path, _))| (path, place)).collect();
        unknown.sort_by_cached_key(|key| {
            let mut path = *key;
            while let Some((parent, _)) = path.rsplit_once('.') {
                path = parent;
                if let Some(&place) = places.get(path) {
                    return place;
                }
            }
            0
        });
    }
    unknown.into_iter().map(str::to_owned).collect()
}

/// Checkpoints from before PyTorch 0.4.1 lack the counter of batch normalisation; the module keeps
/// its own, which is 0 in a fresh one.
fn is_batch_counter(key: &str, value: &Tensor) -> bool {
    let name = key.rsplit('.').next();
    name == Some("num_batches_tracked") && value.dtype() == DType::I64 && value.rank() == 0
}

/// The value in the shape, dtype and device of the one it replaces; `None` if the shapes differ.
///
/// A shape that would broadcast does not fit: only a single element in one dimension loads into
/// a tensor without dimensions, as in PyTorch.
fn fitted(value: &Tensor, slot: Slot<'_>, assign_dtype: bool) -> Result<Option<Tensor>> {
    let current = slot.value();
    let keeps_dtype = match slot {
        Slot::Extra(_) => return Ok(Some(value.clone())),
        Slot::Parameter(_) => !value.dtype().is_floating_point(),
        Slot::Buffer(buffer) => buffer.is_pinned(),
    };
    let value = match (
        value.shape() == current.shape(),
        &**value.shape(),
        current.rank(),
    ) {
        (true, ..) => value.clone(),
        (false, [1], 0) => value.squeeze(0)?,
        _ => return Ok(None),
    };
    let dtype = match assign_dtype && !keeps_dtype {
        true => value.dtype(),
        false => current.dtype(),
    };
    Ok(Some(value.to_dtype(dtype)?.to_device(&current.device())?))
}
