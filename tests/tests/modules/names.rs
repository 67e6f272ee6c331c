//! Where a search of the documentation finds each public name of PyTorch, or why there is nothing to find.
//!
//! The names are those that PyTorch's modules export (`tests/golden/public_names.py`); `names/rows.tsv` says for each where
//! it is found here, or why it is absent.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::public_items::{Item, public_items};

const NAMES: &str = include_str!("../../golden/data/public_names.json");
const ROWS: &str = include_str!("names/rows.tsv");

/// By PyTorch's name: the path here, and the reason if there is none.
fn rows() -> BTreeMap<&'static str, (&'static str, &'static str)> {
    let lines = ROWS.lines().skip(1);
    let rows = lines.map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [name, here, reason] = cells[..] else {
            panic!("three cells in `{line}`");
        };
        (name, (here, reason))
    });
    rows.collect()
}

#[test]
fn every_name_of_pytorch_has_a_row() {
    let names: Value = serde_json::from_str(NAMES).unwrap();
    let exported: BTreeSet<String> = names["modules"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(module, listed)| {
            let listed = listed.as_array().unwrap().iter();
            listed.map(move |name| format!("{module}.{}", name.as_str().unwrap()))
        })
        .collect();
    let rows = rows();
    assert_eq!(ROWS.lines().count(), rows.len() + 1, "a name has two rows");
    let listed: BTreeSet<String> = rows.keys().map(|&name| name.to_owned()).collect();
    let without: Vec<&String> = exported.difference(&listed).collect();
    let surplus: Vec<&String> = listed.difference(&exported).collect();
    assert!(without.is_empty(), "no row for {without:?}");
    assert!(surplus.is_empty(), "PyTorch does not export {surplus:?}");
    assert!(exported.len() > 1_400, "{} names", exported.len());
}

#[test]
fn a_search_for_the_name_of_pytorch_finds_the_item_of_the_row() {
    let items = public_items();
    let mut wrong = Vec::new();
    for (name, (here, _)) in rows() {
        if here.is_empty() {
            continue;
        }
        let searched = last(name);
        let is_there = |item: &&Item| !item.hidden && item.is_at(here);
        let there: Vec<&Item> = items.iter().filter(is_there).collect();
        if there.is_empty() {
            wrong.push(format!("{name}: there is no `{here}`"));
        } else if !there.iter().any(|item| item.is_found_by(searched)) {
            let place = there[0].place();
            wrong.push(format!(
                "{name}: {place}: add `#[doc(alias = \"{searched}\")]`"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The name without its module.
fn last(name: &str) -> &str {
    name.rsplit('.').next().unwrap()
}

/// A row has a place or a reason, and what is called absent is not a method of `Tensor`.
#[test]
fn absent_names_have_a_reason_and_no_namesake() {
    let items = public_items();
    let is_of_tensor = |item: &&Item| item.owner.as_deref() == Some("Tensor");
    let methods: BTreeSet<&str> = items
        .iter()
        .filter(is_of_tensor)
        .map(|item| item.name.as_str())
        .collect();
    let mut wrong = Vec::new();
    for (name, (here, reason)) in rows() {
        if here.is_empty() == reason.is_empty() {
            wrong.push(format!("{name}: a place or a reason, not both"));
        }
        if here.is_empty() && methods.contains(last(name)) {
            wrong.push(format!(
                "{name}: `Tensor` has such a method: name it in the second cell of the row in `names/rows.tsv`, \
                 instead of the reason"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
