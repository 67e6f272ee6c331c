//! Random trees of modules (`golden/random_trees`) list their members, change and load as in PyTorch: a recording, or the trees
//! in the folder `RANDOM_TREES`, which `python -m random_trees` writes for any seed.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod build;
mod load;

use module_core::module::Visitor;
use module_nn::prelude::*;
use module_tests::drawn::Drawn;
use module_tests::golden;
use serde_json::{Value, json};

use crate::trees::{differences, find};
use build::built;

const FILE: &str = "random_trees.safetensors";

/// The recording stays small, and has enough trees.
const BYTES: u64 = 1_000_000;
const TREES: usize = 60;

/// The flag of a module of its own.
#[derive(Default)]
struct Flag<'a>(Option<&'a Training>);

impl<'a> Visitor<'a> for Flag<'a> {
    fn training(&mut self, flag: &'a Training) {
        self.0 = Some(flag);
    }
}

fn same(what: &str, ours: Value, theirs: &Value) -> Result<(), String> {
    match ours == *theirs {
        true => Ok(()),
        false => Err(format!("{what}: {ours}\ninstead of {theirs}")),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().expect("a list").iter()
}

fn change_flags(model: &dyn Module, step: &Value) -> Result<(), String> {
    let path = step["path"].as_str().expect("a path");
    let module = model.get_submodule(path).map_err(|e| e.to_string())?;
    let value = step["value"] == true;
    match step["call"] == "set_training" {
        true => module.set_training(value),
        false => module.set_requires_grad(value),
    }
    let every_path = || Walk::new().remove_duplicate(false);
    for (path, module) in model.named_modules_with(every_path()) {
        let mut own = Flag::default();
        module.visit(&mut own);
        if let Some(own) = own.0 {
            let what = format!("training of `{path}` after {step}");
            same(&what, own.is_training().into(), &step["training"][path])?;
        }
    }
    let parameters = model.named_parameters_with(every_path());
    let tracked = parameters.filter(|(_, parameter)| parameter.requires_grad());
    let tracked: Value = tracked.map(|(name, _)| name).collect();
    same(&format!("parameters after {step}"), tracked, &step["grad"])
}

fn check(case: &Value) -> Result<(), String> {
    let tree = || built(&case["tree"]).map_err(|e| format!("not built: {e}"));
    let model = tree()?;
    let found = differences(&*model, &case["listed"]);
    if !found.is_empty() {
        return Err(found.join("\n"));
    }
    for lookup in list(&case["lookups"]) {
        let found = find(&*model, lookup);
        let found = found.map_err(|e| e.to_string());
        match (&found, lookup.get("found")) {
            (Ok(found), Some(theirs)) => same(&lookup.to_string(), found.clone(), theirs)?,
            (Err(_), None) => {}
            _ => return Err(format!("{lookup}: {found:?}")),
        }
    }
    list(&case["steps"]).try_for_each(|step| change_flags(&*model, step))?;
    for recorded in list(&case["loads"]) {
        load::check(&*tree()?, recorded).map_err(|e| format!("{recorded}: {e}"))?;
    }
    load::check_round_trip(&*tree()?, &*tree()?)?;
    let model = tree()?;
    let dtype = case["dtype"].as_str().expect("a dtype");
    model
        .to_dtype(dtype.parse().expect("a dtype"))
        .map_err(|e| e.to_string())?;
    let state = model.state_dict().map_err(|e| e.to_string())?;
    let dtypes = state.iter().map(|(_, x)| json!(x.dtype().to_string()));
    same("dtypes", dtypes.collect(), &case["dtypes"])
}

#[test]
fn random_trees_agree_with_pytorch() {
    let drawn = Drawn::open("RANDOM_TREES", FILE);
    drawn.check(TREES, |i, case| {
        let number = &case["number"];
        check(case).map_err(|e| format!("{i}, number {number}: {e}\nof {}", case["tree"]))
    });
}

#[test]
fn the_recording_is_small() {
    let size = golden::path(FILE).metadata().expect("a recording").len();
    assert!(size <= BYTES, "{size} bytes");
}
