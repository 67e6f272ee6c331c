use std::collections::{HashMap, HashSet};
use std::fmt;

use super::StateDict;
use super::diff::same_values;
use super::entries::{Slot, entries};
use crate::module::walk::modules;
use crate::module::{Module, TensorId, Walk};
use crate::{DType, ErrorKind, LoadProblems, Mismatch, Result, Tensor};

/// How a state dict is loaded.
///
/// # Example
///
/// ```
/// use module_core::LoadOptions;
///
/// let partial = LoadOptions::new().strict(false);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    strict: bool,
    allow_mismatch: bool,
}

impl LoadOptions {
    /// Strict: every key of the module and of the state dict must be in the other.
    pub fn new() -> Self {
        Self {
            strict: true,
            allow_mismatch: false,
        }
    }

    /// Whether missing and unexpected keys are errors rather than lines of the report.
    #[must_use]
    pub fn strict(self, strict: bool) -> Self {
        Self { strict, ..self }
    }

    /// Whether keys of another shape are left out rather than errors.
    #[must_use]
    pub fn allow_mismatch(self, allow_mismatch: bool) -> Self {
        Self {
            allow_mismatch,
            ..self
        }
    }
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// What a load did.
#[must_use = "the report tells which tensors keep their old values"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Keys that were loaded, in the module's order.
    pub loaded: Vec<String>,
    /// Keys that keep the values they had, in the module's order.
    pub fresh: Vec<String>,
    /// Keys that the module has and the state dict lacks.
    pub missing: Vec<String>,
    /// Keys that the state dict has and the module lacks.
    pub unexpected: Vec<String>,
    /// Keys whose shapes differ.
    pub mismatched: Vec<Mismatch>,
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.fresh.is_empty() && self.unexpected.is_empty() {
            return write!(f, "<All keys matched successfully>");
        }
        write!(
            f,
            "loaded {} key(s); fresh: {:?}; unexpected: {:?}",
            self.loaded.len(),
            self.fresh,
            self.unexpected
        )
    }
}

/// Loads a state dict in two phases: everything is checked and cast, then everything is set.
/// On any error the module is as it was.
pub(crate) fn load(
    root: &dyn Module,
    state: &StateDict,
    options: &LoadOptions,
) -> Result<LoadReport> {
    let entries = entries(root)?;
    let mut problems = LoadProblems {
        module: root.kind().to_owned(),
        ..Default::default()
    };
    let mut plan: Vec<(Slot<'_>, Tensor)> = Vec::new();
    let mut loaded = Vec::new();
    let mut first_of_tie: HashMap<TensorId, (&str, Tensor)> = HashMap::new();
    for (key, slot) in &entries {
        let current = slot.value();
        let Some(found) = state.get(key) else {
            if !is_batch_counter(key, &current) {
                problems.missing.push(key.clone());
            }
            continue;
        };
        let Some(value) = fitted(found, &current)? else {
            let (found, expected) = (found.shape().clone(), current.shape().clone());
            problems.mismatched.push(Mismatch {
                key: key.clone(),
                found,
                expected,
            });
            continue;
        };
        match first_of_tie.get(&slot.id()) {
            Some((first, other)) if !same_values(&value, other)? => {
                problems.untied.push(((*first).to_owned(), key.clone()));
            }
            Some(_) => {}
            None => {
                first_of_tie.insert(slot.id(), (key, value.clone()));
            }
        }
        plan.push((*slot, value));
        loaded.push(key.clone());
    }
    problems.unexpected = unexpected(root, &entries, state);
    let nothing_fits = loaded.is_empty() && !entries.is_empty();
    let allowed = problems.clone();
    // What the options allow is no problem, unless it is all that there is.
    if !nothing_fits {
        if !options.strict {
            problems.missing.clear();
            problems.unexpected.clear();
        }
        if options.allow_mismatch {
            problems.mismatched.clear();
        }
    }
    if nothing_fits || !problems.is_empty() {
        return Err(ErrorKind::Load(problems).into());
    }
    // A key that is missing is not fresh if its tensor came under another name.
    let done: HashSet<TensorId> = plan.iter().map(|(slot, _)| slot.id()).collect();
    for (slot, value) in plan {
        slot.replace(value);
    }
    let fresh = entries
        .iter()
        .filter(|(_, slot)| !done.contains(&slot.id()));
    let LoadProblems {
        missing,
        unexpected,
        mismatched,
        ..
    } = allowed;
    Ok(LoadReport {
        fresh: fresh.map(|(key, _)| key.clone()).collect(),
        loaded,
        missing,
        unexpected,
        mismatched,
    })
}

/// The keys of the state dict that the module lacks, in PyTorch's order: each belongs to the
/// innermost module on its path, modules come in the order of the tree, and the keys of one in the
/// order of the state dict.
fn unexpected(root: &dyn Module, entries: &[(String, Slot<'_>)], state: &StateDict) -> Vec<String> {
    let known: HashSet<&str> = entries.iter().map(|(key, _)| key.as_str()).collect();
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
fn fitted(value: &Tensor, current: &Tensor) -> Result<Option<Tensor>> {
    let value = match (
        value.shape() == current.shape(),
        &**value.shape(),
        current.rank(),
    ) {
        (true, ..) => value.clone(),
        (false, [1], 0) => value.squeeze(0)?,
        _ => return Ok(None),
    };
    Ok(Some(
        value
            .to_dtype(current.dtype())?
            .to_device(&current.device())?,
    ))
}
