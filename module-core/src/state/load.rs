use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::diff::has_same_values;
use super::entries::{Entry, Previous, StateTensor, entries};
use super::former_keys::rename_former_keys;
use super::hooks::{AfterLoading, before_loading};
use super::orientation::{self, Weight};
use super::prefix::prefix;
use super::{LoadOptions, LoadReport, StateDict, values_lock};
use crate::hooks::has_hooks;
use crate::module::walk::modules;
use crate::module::{Module, TensorId, Walk};
use crate::{DType, Error, LoadProblems, Mismatch, Result, Select, Tensor};

/// Loads a state dict in two phases: everything is checked and cast, then everything is set.
/// On any error the module is unchanged.
pub(crate) fn load(
    root: &dyn Module,
    state: &StateDict,
    options: &LoadOptions,
) -> Result<LoadReport> {
    let mut state = Cow::Borrowed(state);
    if let Some(rules) = &options.remap {
        state = Cow::Owned(state.remap(rules)?);
    }
    if state.has_descriptions() {
        state = Cow::Owned(state.join_packed()?);
    }
    rename_former_keys(root, &mut state);
    if has_hooks() {
        state = Cow::Owned(before_loading(root, state.into_owned(), options.strict)?);
        // A hook may have supplied old keys.
        rename_former_keys(root, &mut state);
    }
    let entries = entries(root)?;
    let plan = Plan::new(root, &entries, &state, options)?;
    let hooks = match has_hooks() {
        true => AfterLoading::of(root),
        false => AfterLoading::default(),
    };
    let mut problems = plan.refused_problems(options);
    if !hooks.is_empty() && !plan.nothing_fits {
        // The hooks have the last word on these two.
        problems.missing.clear();
        problems.unexpected.clear();
    }
    if plan.nothing_fits || !problems.is_empty() {
        let known = entries.iter().map(|entry| entry.key.as_str()).collect();
        problems.prefix = prefix(&known, &state, &problems.missing, &problems.unexpected);
        return Err(problems.into());
    }
    if hooks.is_empty() {
        let tensors = plan.values.iter().map(|(tensor, _)| *tensor).collect();
        return Ok(plan.run(tensors).0);
    }
    // Hooks may also change tensors that were not loaded.
    let (mut report, kept) = plan.run(entries.iter().map(|entry| entry.tensor).collect());
    let result = catch_unwind(AssertUnwindSafe(|| {
        hooks.run(&mut report)?;
        let (missing, unexpected) = (&report.missing, &report.unexpected);
        if options.strict && !(missing.is_empty() && unexpected.is_empty()) {
            (problems.missing, problems.unexpected) = (missing.clone(), unexpected.clone());
            return Err(problems.into());
        }
        Ok(())
    }));
    match result {
        Ok(Ok(())) => Ok(report),
        Ok(Err(error)) => {
            restore(kept);
            Err(error)
        }
        Err(panic) => {
            restore(kept);
            resume_unwind(panic)
        }
    }
}

/// Restores the previous values of the tensors.
fn restore(kept: Vec<(StateTensor<'_>, Previous)>) {
    // The values left by the hooks are dropped after the lock is released.
    let undone: Vec<Previous> = kept.iter().map(|(tensor, _)| tensor.previous()).collect();
    values_lock::write(|| {
        kept.into_iter()
            .for_each(|(tensor, kept)| tensor.restore(kept))
    });
    drop(undone);
}

/// The values to be set, and all problems.
struct Plan<'m> {
    values: Vec<(StateTensor<'m>, Tensor)>,
    report: LoadReport,
    problems: LoadProblems,
    nothing_fits: bool,
}

impl<'m> Plan<'m> {
    fn new(
        root: &dyn Module,
        entries: &[Entry<'m>],
        state: &StateDict,
        options: &LoadOptions,
    ) -> Result<Self> {
        let keys = || entries.iter().map(|entry| entry.key.as_str());
        let wanted = choose(&options.select, keys())?;
        let is_wanted = |key: &str| wanted.as_ref().is_none_or(|wanted| wanted.contains(key));
        let unpacked = choose(&options.unpack, keys())?;
        let is_unpacked = |key: &str| unpacked.as_ref().is_some_and(|keys| keys.contains(key));
        let turned = match &options.transpose {
            Some(rule) => rule.resolve(entries)?,
            None => HashSet::new(),
        };
        let is_excluded = |key| matches!(&options.transpose, Some(rule) if rule.excludes(key));
        let mut problems = LoadProblems {
            module: root.kind(),
            ..Default::default()
        };
        let mut report = LoadReport::default();
        let (mut values, mut weights, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let mut first_of_tie: HashMap<TensorId, (&str, Tensor)> = HashMap::new();
        let mut mismatched_ids = HashSet::new();
        for entry in entries.iter().filter(|entry| is_wanted(&entry.key)) {
            let (key, tensor) = (&entry.key, entry.tensor);
            problems.total += 1;
            let Some(found) = state.get(key) else {
                missing.push(entry);
                continue;
            };
            let found = match is_unpacked(key) {
                true => &found.unpack()?,
                false => found,
            };
            let is_turned = found.rank() == 2 && turned.contains(key.as_str());
            let found = match is_turned {
                true => &found.t()?.contiguous()?,
                false => found,
            };
            let value = fit(found, tensor, options.assign_dtype)?;
            if let (true, [rows, columns]) = (entry.is_weight(), &**found.shape()) {
                weights.push(Weight {
                    key,
                    kind: entry.owner.kind(),
                    turned: is_turned,
                    excluded: is_excluded(key),
                    square: rows == columns,
                    fits: value.is_some(),
                    fits_transposed: **tensor.value().shape() == [*columns, *rows],
                });
            }
            let Some(value) = value else {
                let (found, expected) = (found.shape().clone(), tensor.value().shape().clone());
                mismatched_ids.insert(tensor.id());
                problems.mismatched.push(Mismatch {
                    key: key.clone(),
                    found,
                    expected,
                });
                continue;
            };
            report.loaded.push(key.clone());
            match first_of_tie.get(&tensor.id()) {
                Some((first, other)) => {
                    if !has_same_values(&value, other)? {
                        problems.untied.push(((*first).to_owned(), key.clone()));
                    }
                }
                None => {
                    first_of_tie.insert(tensor.id(), (key, value.clone()));
                    values.push((tensor, value));
                }
            }
        }
        problems.loaded = report.loaded.len();
        // A tensor found under another of its names is neither missing nor unchanged; one found under another name with
        // another shape is reported once.
        let came = |tensor: StateTensor<'_>| first_of_tie.contains_key(&tensor.id());
        for Entry { key, tensor, .. } in missing {
            let told = came(*tensor) || mismatched_ids.contains(&tensor.id());
            if !told && !is_batch_counter(key, &tensor.value()) {
                problems.missing.push(key.clone());
            }
        }
        for Entry { key, tensor, .. } in entries {
            if came(*tensor) {
                if !state.contains_key(key) || !is_wanted(key) {
                    report.tied.push(key.clone());
                }
                continue;
            }
            if !is_wanted(key) {
                report.not_selected.push(key.clone());
            }
            if is_wanted(key) || !tensor.value().has_values() {
                report.not_loaded.push(key.clone());
            }
        }
        problems.not_transposed = orientation::not_transposed(&weights);
        problems.transpose = orientation::hint(&weights, problems.mismatched.len());
        let known: HashSet<&str> = keys().collect();
        let unexpected = find_unexpected(root, &known, state);
        let ignored = find_ignored(options, &unexpected, &known)?;
        let select = &options.select;
        let set_aside = |key: &String| {
            let selected = select.as_ref().is_none_or(|select| select.covers(key));
            !selected || ignored.contains(key)
        };
        (report.ignored, problems.unexpected) = unexpected.into_iter().partition(set_aside);
        Ok(Self {
            nothing_fits: report.loaded.is_empty() && !entries.is_empty() && !is_nothing(options),
            values,
            report,
            problems,
        })
    }

    /// The problems that the options do not allow; allowed ones count if nothing fits.
    fn refused_problems(&self, options: &LoadOptions) -> LoadProblems {
        let mut problems = self.problems.clone();
        if !self.nothing_fits {
            if !options.strict {
                problems.missing.clear();
                problems.unexpected.clear();
            }
            if options.allow_mismatch {
                problems.mismatched.clear();
                problems.transpose = None;
            }
        }
        problems
    }

    /// The second phase, in which nothing can fail. Returns the previous values.
    fn run(self, tensors: Vec<StateTensor<'m>>) -> (LoadReport, Vec<(StateTensor<'m>, Previous)>) {
        let values = self.values;
        let kept = values_lock::write(|| {
            let kept: Vec<_> = tensors
                .into_iter()
                .map(|tensor| (tensor, tensor.previous()))
                .collect();
            // The old values are in `kept`, so that none is dropped here.
            for (tensor, value) in &values {
                tensor.load(value.clone());
            }
            kept
        });
        let LoadProblems {
            missing,
            unexpected,
            mismatched,
            ..
        } = self.problems;
        let report = LoadReport {
            missing,
            unexpected,
            mismatched,
            ..self.report
        };
        (report, kept)
    }
}

/// The keys of the state dict, among those that the module lacks, that are to be ignored.
fn find_ignored(
    options: &LoadOptions,
    unexpected: &[String],
    known: &HashSet<&str>,
) -> Result<HashSet<String>> {
    let refused = |option, select: &Select| {
        let key = known.iter().filter(|key| select.covers(key)).min()?;
        let problem = format!(
            "covers `{key}`, which the module has: leave it out of the load by \
             `select(Select::all().exclude(\"{key}\"))`"
        );
        Some(Error::argument(option, "pattern", select, problem))
    };
    let keys = || unexpected.iter().map(String::as_str);
    let mut ignored = HashSet::new();
    if let Some(select) = &options.ignore {
        let found = select.resolve(keys());
        ignored.extend(found.map_err(|error| refused("ignore", select).unwrap_or(error))?);
    }
    if let Some(select) = &options.ignore_if_present {
        select.check()?;
        let mut covered = keys().filter(|key| select.covers(key)).peekable();
        if covered.peek().is_none()
            && let Some(error) = refused("ignore_if_present", select)
        {
            return Err(error);
        }
        ignored.extend(covered);
    }
    Ok(ignored.into_iter().map(str::to_owned).collect())
}

/// The keys that an option selects, if it is set.
fn choose<'k>(
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

/// The keys of the state dict that the module lacks, in PyTorch's order: each belongs to the innermost module on its path,
/// modules are in tree order, and the keys of one module in the order of the state dict.
fn find_unexpected(root: &dyn Module, known: &HashSet<&str>, state: &StateDict) -> Vec<String> {
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

/// Checkpoints from before PyTorch 0.4.1 lack the counter of batch normalization; the module keeps its own, which is 0 in a
/// new one.
fn is_batch_counter(key: &str, value: &Tensor) -> bool {
    let name = key.rsplit('.').next();
    name == Some("num_batches_tracked") && value.dtype() == DType::I64 && value.rank() == 0
}

/// The value in the shape, dtype and device of the one that it replaces; `None` if the shapes differ.
///
/// A shape that would broadcast does not match: only a one-dimensional single element loads into a zero-dimensional tensor,
/// as in PyTorch.
fn fit(value: &Tensor, tensor: StateTensor<'_>, assign_dtype: bool) -> Result<Option<Tensor>> {
    let current = tensor.value();
    let keeps_dtype = match tensor {
        StateTensor::Extra(_) => return Ok(Some(value.clone())),
        StateTensor::Parameter(_) => !value.dtype().is_differentiable(),
        StateTensor::Buffer(buffer) => buffer.keeps_dtype(),
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
    // Packed elements have the dtype that they unpack to, and products compute in the dtype of their inputs.
    let dtype = match (assign_dtype && !keeps_dtype) || value.is_packed() {
        true => value.dtype(),
        false => current.dtype(),
    };
    Ok(Some(value.to_dtype(dtype)?.to_device(&current.device())?))
}
