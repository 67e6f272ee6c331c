//! Selects the tensors of a pickle that form the state dict.

use std::borrow::Cow;
use std::collections::HashSet;

use super::globals;
use super::heap::{Heap, Value};
use super::tensors::{Storages, TensorBuilder};
use crate::StateDict;
use crate::checkpoint::words::shorten;
use crate::checkpoint::{FormatError, ReadOptions};

/// The tensors of the dict at the entry in the options, or of the whole object, which may then contain nothing opaque.
pub(super) fn state(
    heap: &Heap<'_>,
    root: Value,
    options: &ReadOptions,
    storages: &dyn Storages,
) -> Result<StateDict, FormatError> {
    let entry = options.entry.as_deref();
    let value = match (entry, heap.first_opaque()) {
        (Some(path), _) => find(heap, root, path)?,
        (None, None) => root,
        (None, Some((module, name))) => return Err(refusal_error(heap, root, module, name)),
    };
    let Value::Dict(dict) = value else {
        let what = heap.describe(value);
        return Err(FormatError::Unsupported(match entry {
            Some(path) => format!("`{}` is {what}, not a dict of tensors", shorten(path)),
            None => format!(
                "the checkpoint holds {what}, not a dict of tensors; save `{{\"name\": tensor}}` with \
                 a name for each"
            ),
        }));
    };
    if let Some(problem) = describe_mixed(heap, dict, entry) {
        return Err(FormatError::Unsupported(problem));
    }
    let count = tensors_in(heap, dict).count();
    let mut tensors = TensorBuilder::new(heap, storages, count, options.expanded)?;
    for (key, tensor) in tensors_in(heap, dict) {
        match heap.text(key) {
            Some(name) => tensors.insert(name, heap.tensor(tensor))?,
            None => {
                let what = heap.describe(key);
                let problem = format!("a tensor is stored under {what} instead of a name");
                return Err(FormatError::Unsupported(problem));
            }
        }
    }
    tensors.finish()
}

/// Why a checkpoint with an opaque object is refused, and what to do.
fn refusal_error(heap: &Heap<'_>, root: Value, module: &str, name: &str) -> FormatError {
    let (problem, cured) = globals::explain_refusal(module, name);
    let cure = match entries(heap, root).is_empty() {
        true if cured => String::new(),
        true => "; re-save the state dict alone".to_owned(),
        false => format!("; to leave it out, {}", describe_choices(heap, root, None)),
    };
    FormatError::Unsupported(problem + &cure)
}

/// The tensors directly in a dict, with their keys.
fn tensors_in<'a>(heap: &'a Heap<'_>, dict: u32) -> impl Iterator<Item = (Value, u32)> + 'a {
    let pairs = heap.dict(dict).iter();
    pairs.filter_map(|&(key, value)| match value {
        Value::Tensor(tensor) => Some((key, tensor)),
        _ => None,
    })
}

/// A key as written in a path.
pub(super) fn step<'a>(heap: &Heap<'a>, key: Value) -> Option<Cow<'a, str>> {
    match key {
        Value::Int(number) => Some(number.to_string().into()),
        _ => heap.text(key).map(Cow::Borrowed),
    }
}

/// The value at a path of keys. A key may itself contain dots: the longest one that fits is used.
pub(super) fn find(heap: &Heap<'_>, root: Value, path: &str) -> Result<Value, FormatError> {
    let (mut value, mut rest) = (root, path);
    loop {
        let pairs = match value {
            Value::Dict(place) => heap.dict(place),
            _ => &[],
        };
        let after = |key| {
            let key = step(heap, key)?;
            match rest.strip_prefix(&*key)? {
                "" => Some(""),
                more => more.strip_prefix('.'),
            }
        };
        // Of equal keys the last, as in Python.
        let longest = pairs
            .iter()
            .rev()
            .filter_map(|&(key, value)| Some((after(key)?, value)))
            .min_by_key(|(after, _)| after.len());
        match longest {
            Some(("", found)) => return Ok(found),
            Some((after, found)) => (rest, value) = (after, found),
            None => {
                let found = match (value, path.strip_suffix(rest)) {
                    (Value::Dict(_), _) | (_, None) => String::new(),
                    (_, Some("")) => format!(": the checkpoint holds {}", heap.describe(value)),
                    (_, Some(before)) => {
                        let before = before.trim_end_matches('.');
                        format!(": `{}` is {}", shorten(before), heap.describe(value))
                    }
                };
                return Err(FormatError::Unsupported(format!(
                    "there is no entry `{}`{found}; {}",
                    shorten(path),
                    describe_choices(heap, root, None)
                )));
            }
        }
    }
}

/// The problem with a dict that holds more than tensors.
///
/// A module's extra state (`…_extra_state`) may be anything; unless it is a tensor, it is skipped.
fn describe_mixed(heap: &Heap<'_>, dict: u32, entry: Option<&str>) -> Option<String> {
    let extra = |key| {
        heap.text(key)
            .is_some_and(|key| key.ends_with("_extra_state"))
    };
    let (key, value) = heap
        .dict(dict)
        .iter()
        .copied()
        .find(|&(key, value)| !matches!(value, Value::Tensor(_)) && !extra(key))?;
    let key = step(heap, key).unwrap_or_else(|| heap.describe(key).into());
    let (key, what) = (shorten(&key), heap.describe(value));
    let at = entry.map(|path| format!(" of `{}`", shorten(path)));
    let at = at.unwrap_or_default();
    let opaque = heap.opaque(value);
    if let Some(instead) = opaque.and_then(|(module, name)| globals::suggest_instead(module, name))
    {
        return Some(format!("`{key}`{at} is {what}, {instead}"));
    }
    Some(format!(
        "`{key}`{at} is {what}, not a tensor; {}",
        describe_choices(heap, Value::Dict(dict), entry)
    ))
}

/// The entries under `root` that hold tensors, with their numbers, so that the user can choose one. `root` itself may be
/// under another entry.
fn describe_choices(heap: &Heap<'_>, root: Value, under: Option<&str>) -> String {
    const SHOWN: usize = 12;
    let found = entries(heap, root);
    if found.is_empty() {
        return "no entry holds tensors".to_owned();
    }
    let mut shown: Vec<String> = found
        .iter()
        .take(SHOWN)
        .map(|(path, count)| {
            let tensors = if *count == 1 { "tensor" } else { "tensors" };
            format!("`{path}` ({count} {tensors})")
        })
        .collect();
    if let Some(more) = found.len().checked_sub(SHOWN + 1) {
        shown.push(format!("{} more", more + 1));
    }
    let under = under.map(|path| format!(", which lie under `{}`", shorten(path)));
    format!(
        "choose one of the entries that hold tensors by `ReadOptions::entry` (for a module's \
         `load_with`, `LoadOptions::entry`){}: {}",
        under.unwrap_or_default(),
        shown.join(", ")
    )
}

/// The dicts under `root` that directly hold tensors: path and number of tensors, in order.
///
/// Dicts that are too deep, or inside something other than dicts, are skipped; this is only for a message.
fn entries(heap: &Heap<'_>, root: Value) -> Vec<(String, usize)> {
    const DEPTH: usize = 6;
    const VISITS: usize = 10_000;
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open = vec![(root, Vec::<Value>::new())];
    while let Some((value, path)) = open.pop() {
        let Value::Dict(place) = value else {
            continue;
        };
        if !seen.insert(place) || seen.len() > VISITS {
            continue;
        }
        let pairs = heap.dict(place);
        let count = tensors_in(heap, place).count();
        if count > 0 && !path.is_empty() {
            let steps = path.iter().filter_map(|&key| step(heap, key));
            let steps: Vec<_> = steps.map(|key| shorten(&key).into_owned()).collect();
            found.push((steps.join("."), count));
        }
        if path.len() < DEPTH {
            let inner = pairs.iter().rev().filter(|&&(key, value)| {
                matches!(value, Value::Dict(_)) && step(heap, key).is_some()
            });
            open.extend(
                inner
                    .take(VISITS)
                    .map(|&(key, value)| (value, path.iter().copied().chain([key]).collect())),
            );
        }
    }
    found
}
