//! The prefix by which the keys of a state dict and of a module differ.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::{Remap, StateDict};

/// The rule `(from, to)` of [`Remap::prefix`] under which most keys would fit, if there are more than without it, and at
/// least half of the module's keys or of the state dict's. Other keys on either side do not matter.
pub(super) fn prefix(
    known: &HashSet<&str>,
    state: &StateDict,
    missing: &[String],
    unexpected: &[String],
) -> Option<(String, String)> {
    let mut removed: IndexMap<&str, usize> = IndexMap::new();
    count(unexpected, missing, &mut removed);
    let mut added: IndexMap<&str, usize> = IndexMap::new();
    count(missing, unexpected, &mut added);
    let removed = find_most_frequent(&removed).map(|(path, count)| (count, path, ""));
    let added = find_most_frequent(&added).map(|(path, count)| (count, "", path));
    let (_, from, to) = match (removed, added) {
        (Some(removed), Some(added)) if added.0 > removed.0 => added,
        (Some(rule), _) | (None, Some(rule)) => rule,
        (None, None) => return None,
    };
    let now = state.keys().filter(|key| known.contains(key)).count();
    let rule = Remap::new().prefix(from, to);
    let mut keys = HashSet::with_capacity(state.len());
    for key in state.keys() {
        if !keys.insert(rule.key(key)) {
            return None;
        }
    }
    let then = keys.iter().filter(|key| known.contains(key.as_str()));
    let then = then.count();
    let enough = then > now && 2 * then >= known.len().min(state.len());
    enough.then(|| (from.to_owned(), to.to_owned()))
}

/// Counts the paths that `long` has before keys of `short`.
fn count<'l>(long: &'l [String], short: &[String], paths: &mut IndexMap<&'l str, usize>) {
    // A crafted key may consist only of dots.
    const DEEPEST: usize = 16;
    let short: HashSet<&str> = short.iter().map(String::as_str).collect();
    for key in long {
        for (dot, _) in key.match_indices('.').take(DEEPEST) {
            if short.contains(&key[dot + 1..]) {
                *paths.entry(&key[..dot]).or_default() += 1;
            }
        }
    }
}

/// The first of the most frequent ones.
fn find_most_frequent<'l>(paths: &IndexMap<&'l str, usize>) -> Option<(&'l str, usize)> {
    let paths = paths.iter().map(|(&path, &count)| (path, count));
    paths.reduce(|best, next| if next.1 > best.1 { next } else { best })
}
