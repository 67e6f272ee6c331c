//! Which tensors of a pickle are the state dict.

use std::borrow::Cow;
use std::collections::HashSet;

use super::Storages;
use super::heap::{Heap, Value};
use super::tensors::Tensors;
use crate::StateDict;
use crate::checkpoint::words::shortened;

/// The tensors of the dict at `entry`, or of the whole.
pub(super) fn state(
    heap: &Heap<'_>,
    root: Value,
    entry: Option<&str>,
    storages: &dyn Storages,
) -> Result<StateDict, String> {
    let value = match entry {
        Some(path) => find(heap, root, path)?,
        None => root,
    };
    let Value::Dict(dict) = value else {
        let what = heap.describe(value);
        let found = match entry {
            Some(path) => format!("`{}` is {what}", shortened(path)),
            None => format!("the checkpoint holds {what}"),
        };
        return Err(format!("{found}, not a dict of tensors"));
    };
    if let Some(problem) = mixed(heap, dict, entry) {
        return Err(problem);
    }
    let count = tensors_in(heap, dict).count();
    let mut tensors = Tensors::new(heap, storages, count)?;
    for (key, tensor) in tensors_in(heap, dict) {
        match heap.text(key) {
            Some(name) => tensors.insert(name, heap.tensor(tensor))?,
            None => {
                let what = heap.describe(key);
                return Err(format!("a tensor lies under {what} instead of a name"));
            }
        }
    }
    Ok(tensors.state)
}

/// The tensors that a dict holds itself, with their keys.
fn tensors_in<'a>(heap: &'a Heap<'_>, dict: u32) -> impl Iterator<Item = (Value, u32)> + 'a {
    let pairs = heap.dict(dict).iter();
    pairs.filter_map(|&(key, value)| match value {
        Value::Tensor(tensor) => Some((key, tensor)),
        _ => None,
    })
}

/// A key as it is written in a path.
fn step<'a>(heap: &Heap<'a>, key: Value) -> Option<Cow<'a, str>> {
    match key {
        Value::Int(number) => Some(number.to_string().into()),
        _ => heap.text(key).map(Cow::Borrowed),
    }
}

/// The value at a path of keys. A key may contain dots itself: the longest that fits is taken.
fn find(heap: &Heap<'_>, root: Value, path: &str) -> Result<Value, String> {
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
                return Err(format!(
                    "there is no entry `{}`; {}",
                    shortened(path),
                    choices(heap, root)
                ));
            }
        }
    }
}

/// What is wrong with a dict that does not hold tensors only.
///
/// The extra state of a module (`…_extra_state`) may be anything; if it is no tensor it is left out.
fn mixed(heap: &Heap<'_>, dict: u32, entry: Option<&str>) -> Option<String> {
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
    let (key, what) = (shortened(&key), heap.describe(value));
    let at = entry.map(|path| format!(" of `{}`", shortened(path)));
    let at = at.unwrap_or_default();
    Some(format!(
        "`{key}`{at} is {what}, not a tensor; {}",
        choices(heap, Value::Dict(dict))
    ))
}

/// The entries under `root` that hold tensors, with their numbers, for the reader of an error to
/// choose one.
fn choices(heap: &Heap<'_>, root: Value) -> String {
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
    format!(
        "choose one of the entries that hold tensors by `ReadOptions::entry`: {}",
        shown.join(", ")
    )
}

/// The dicts under `root` that hold tensors themselves: path and number of tensors, in order.
///
/// What is deep or hidden in something else than dicts is left out; it is only for a message.
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
            let steps: Vec<_> = steps.map(|key| shortened(&key).into_owned()).collect();
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
