//! Finding weights that are stored transposed by their shapes, as far as shapes reveal it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use crate::error::{SHOWN, cut};

/// A weight to be loaded.
pub(super) struct Weight<'e> {
    pub(super) key: &'e str,
    /// The type of its module.
    pub(super) kind: &'static str,
    /// Whether the rule transposes it.
    pub(super) turned: bool,
    /// Whether the rule excludes it on purpose.
    pub(super) excluded: bool,
    pub(super) square: bool,
    /// Whether it fits as it is.
    pub(super) fits: bool,
    /// Whether it fits transposed.
    pub(super) fits_transposed: bool,
}

/// Square weights that the rule misses, in types whose other weights are all transposed.
pub(super) fn not_transposed(weights: &[Weight<'_>]) -> Vec<(String, &'static str)> {
    let shape_tells = |weight: &&Weight<'_>| weight.fits && !weight.square;
    let mut all_turned: HashMap<&str, bool> = HashMap::new();
    for weight in weights.iter().filter(shape_tells) {
        let all = all_turned.entry(weight.kind).or_insert(true);
        *all &= weight.turned;
    }
    let doubtful = weights.iter().filter(|weight| {
        let open = weight.square && !weight.turned && !weight.excluded;
        open && all_turned.get(weight.kind) == Some(&true)
    });
    doubtful
        .map(|weight| (weight.key.to_owned(), weight.kind))
        .collect()
}

/// The code to write if every key whose shape differs is a weight that would fit transposed.
pub(super) fn hint(weights: &[Weight<'_>], mismatched: usize) -> Option<String> {
    let wrong = || weights.iter().filter(|weight| !weight.fits);
    let count = wrong().filter(|weight| weight.fits_transposed).count();
    if mismatched == 0 || count != mismatched {
        return None;
    }
    if wrong().all(|weight| weight.turned) {
        let keys = list(&wrong().map(|weight| weight.key).collect::<Vec<_>>());
        return Some(format!(
            "these weights fit as they are: write `.exclude({keys})` after the transposing rule"
        ));
    }
    if wrong().any(|weight| weight.turned) {
        return None;
    }
    let mut kinds: Vec<&str> = Vec::new();
    for weight in weights {
        if (!weight.fits || weight.turned) && !kinds.contains(&weight.kind) {
            kinds.push(weight.kind);
        }
    }
    let mut rule = String::new();
    for (i, kind) in kinds.iter().enumerate() {
        let kind = format!("Transpose::of_kind(\"{kind}\")");
        let _ = match i {
            0 => write!(rule, "{kind}"),
            _ => write!(rule, ".or({kind})"),
        };
    }
    let kinds: HashSet<&str> = kinds.into_iter().collect();
    let as_they_are = weights.iter().filter(|weight| {
        let fits = weight.fits && !weight.square && !weight.turned;
        fits && kinds.contains(weight.kind)
    });
    let as_they_are: Vec<&str> = as_they_are.map(|weight| weight.key).collect();
    if !as_they_are.is_empty() {
        let _ = write!(rule, ".exclude({})", list(&as_they_are));
    }
    Some(format!(
        "the transposes fit: load with `LoadOptions::new().transpose({rule})`"
    ))
}

/// `"a"` or `["a", "b"]`.
fn list(keys: &[&str]) -> String {
    let (shown, rest) = cut(keys, SHOWN);
    match (shown, rest) {
        ([key], 0) => format!("\"{key}\""),
        (_, 0) => format!("{shown:?}"),
        _ => format!("{shown:?} and {rest} more"),
    }
}
