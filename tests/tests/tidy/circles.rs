//! Checks the crates of tensors, modules and layers for circular imports between files.
//!
//! The sources are read token by token: the modules that a file declares, its imports and definitions, and the paths in its
//! code. A re-exported name leads to the file that defines it, so a `mod.rs` that only declares and re-exports is not part
//! of a circle. Tests, comments and method calls are ignored.

mod allowed;
mod sources;

use std::collections::{BTreeMap, BTreeSet};

use crate::files::root;
use allowed::{AllowedCircle, CORE, NN, TENSOR};
use sources::{Imports, Sources};

#[test]
fn no_file_of_the_tensors_imports_itself_by_others() {
    check("module-tensor", TENSOR);
}

#[test]
fn no_file_of_the_modules_imports_itself_by_others() {
    check("module-core", CORE);
}

#[test]
fn no_file_of_the_layers_imports_itself_by_others() {
    check("module-nn", NN);
}

/// Fails on a circle that is not allowed, and on an allowed import that no longer closes a circle.
fn check(name: &str, allowed: &[AllowedCircle]) {
    let sources = Sources::read(&root().join(name).join("src"));
    assert!(sources.files.len() > 80, "{} files", sources.files.len());
    let mut imports = sources.imports();
    let files: usize = imports.values().map(BTreeSet::len).sum();
    assert!(files > 200, "{files} imports");
    for AllowedCircle {
        reason,
        imports: allowed,
    } in allowed
    {
        for (from, to) in *allowed {
            let is_circle = imports.get(*from).is_some_and(|next| next.contains(*to))
                && way(&imports, to, from).is_some();
            assert!(
                is_circle,
                "{from} -> {to} closes no circle: take it off the list ({reason})"
            );
        }
    }
    for (from, to) in allowed.iter().flat_map(|circle| circle.imports) {
        imports.entry((*from).to_owned()).or_default().remove(*to);
    }
    let circles = circles(&imports);
    assert!(
        circles.is_empty(),
        "{name} has {} circles of imports:\n{}",
        circles.len(),
        circles.join("\n")
    );
}

/// The shortest circle through each file that is part of one, each circle once.
fn circles(imports: &Imports) -> Vec<String> {
    let mut found = BTreeMap::new();
    for (from, next) in imports {
        let back = next.iter().filter_map(|to| way(imports, to, from));
        let Some(way) = back.min_by_key(Vec::len) else {
            continue;
        };
        let files: BTreeSet<_> = way.iter().copied().collect();
        let names = way.iter().chain([&way[0]]).copied();
        found
            .entry(files)
            .or_insert_with(|| names.collect::<Vec<_>>().join(" -> "));
    }
    found.into_values().collect()
}

/// The files on the shortest path along the imports, including both ends.
fn way<'a>(imports: &'a Imports, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut before = BTreeMap::from([(from, from)]);
    let mut turn = std::collections::VecDeque::from([from]);
    while let Some(file) = turn.pop_front() {
        if file == to {
            let mut way = vec![file];
            while before[way[way.len() - 1]] != way[way.len() - 1] {
                way.push(before[way[way.len() - 1]]);
            }
            way.reverse();
            return Some(way);
        }
        for next in imports.get(file).into_iter().flatten() {
            if !before.contains_key(&**next) {
                before.insert(next, file);
                turn.push_back(next);
            }
        }
    }
    None
}
