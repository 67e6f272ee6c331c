//! Reference modules enumerate their members, print and look up paths as in PyTorch.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod references;

use module_nn::prelude::*;
use module_tests::golden;
use serde_json::{Value, json};

/// Trees that print differently, with PyTorch's text, ours and the reason.
const PRINTED_OTHERWISE: [(&str, &str, &str, &str); 1] = [(
    "Printed",
    "ReLU(inplace=True)",
    "ReLU()",
    "tensors are immutable, so that nothing works in place",
)];

/// Trees with a module at several paths, to which nobody can have exclusive access.
const SHARED: [&str; 2] = ["Shared", "Diamond"];

fn cases() -> Vec<Value> {
    let text = std::fs::read_to_string(golden::path("trees.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    recorded["cases"].as_array().expect("cases").clone()
}

fn walk(case: &Value) -> Walk {
    Walk::new()
        .prefix(case["prefix"].as_str().expect("a prefix"))
        .recurse(case["recurse"] != false)
        .remove_duplicate(case["remove_duplicate"] == true)
}

fn named<'a>(modules: impl Iterator<Item = (String, &'a dyn Module)>) -> Value {
    modules
        .map(|(name, module)| json!([name, module.kind()]))
        .collect()
}

/// Groups of names that are one tensor.
fn aliases(model: &dyn Module) -> Value {
    let every_path = || Walk::new().remove_duplicate(false);
    let parameters = model.named_parameters_with(every_path());
    let buffers = model.named_buffers_with(every_path());
    let ids = parameters.map(|(name, parameter)| (name, parameter.id()));
    let ids = ids.chain(buffers.map(|(name, buffer)| (name, buffer.id())));
    let mut groups = module_nn::IndexMap::<_, Vec<String>>::new();
    for (name, id) in ids {
        groups.entry(id).or_default().push(name);
    }
    let groups = groups.into_values().filter(|names| names.len() > 1);
    groups.map(|names| json!(names)).collect()
}

fn printed(case: &Value) -> String {
    let mut text = case["repr"].as_str().expect("a print").to_owned();
    for (name, theirs, ours, _) in PRINTED_OTHERWISE {
        if case["name"] == name {
            assert!(text.contains(theirs), "{name} prints no {theirs}");
            text = text.replace(theirs, ours);
        }
    }
    text
}

/// The differences between a model and its recording.
pub(crate) fn differences(model: &dyn Module, case: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut same = |what: &str, actual: Value, expected: &Value| {
        if actual != *expected {
            found.push(format!(
                "{}: {what}: {actual}\ninstead of {expected}",
                case["name"]
            ));
        }
    };
    let list = |key: &str| case[key].as_array().expect("a list").clone();
    same(
        "print",
        model.tree().to_string().into(),
        &printed(case).into(),
    );
    same(
        "children",
        named(model.named_children()),
        &case["named_children"],
    );
    for expected in list("named_modules") {
        let modules = named(model.named_modules_with(walk(&expected)));
        same("modules", modules, &expected["modules"]);
    }
    for expected in list("named_parameters") {
        let names = model.named_parameters_with(walk(&expected));
        same(
            "parameters",
            names.map(|(name, _)| name).collect(),
            &expected["names"],
        );
    }
    for expected in list("named_buffers") {
        let names = model.named_buffers_with(walk(&expected));
        same(
            "buffers",
            names.map(|(name, _)| name).collect(),
            &expected["names"],
        );
    }
    let shapes = model.parameters().map(|p| json!(p.shape().to_vec()));
    same("shapes", shapes.collect(), &case["parameter_shapes"]);
    let state = model.state_dict().unwrap();
    let entry = |(key, value): (&str, &Tensor)| {
        json!([key, value.shape().to_vec(), value.dtype().to_string()])
    };
    same(
        "state dict",
        state.iter().map(entry).collect(),
        &case["state_dict"],
    );
    same("aliases", aliases(model), &case["aliases"]);
    same(
        "number of parameters",
        model.num_parameters().into(),
        &case["num_parameters"],
    );
    same(
        "number trained",
        model.num_trainable().into(),
        &case["num_trainable"],
    );
    assert_eq!(model.children().count(), model.named_children().count());
    assert_eq!(model.modules().count(), model.named_modules().count());
    assert_eq!(model.parameters().count(), model.named_parameters().count());
    assert_eq!(model.buffers().count(), model.named_buffers().count());
    found
}

#[test]
fn members_are_those_of_pytorch() {
    let mut failures = Vec::new();
    for case in cases() {
        let name = case["name"].as_str().expect("a name");
        match references::build(name) {
            Some(model) => failures.extend(differences(&*model.unwrap(), &case)),
            None => failures.push(format!("{name} is not written")),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

#[test]
fn apply_comes_to_children_first() {
    for case in cases() {
        let name = case["name"].as_str().expect("a name");
        let Some(model) = references::build(name) else {
            continue;
        };
        let mut model = model.unwrap();
        let mut order = Vec::new();
        let result = model.apply(|path, _| order.push(path.to_owned()));
        if SHARED.contains(&name) {
            let error = result.unwrap_err();
            assert!(
                matches!(error.downcast_ref(), Some(ModuleError::SharedModule { .. })),
                "{error}"
            );
            assert!(order.is_empty(), "{name}: {order:?}");
        } else {
            result.unwrap();
            assert_eq!(json!(order), case["apply_order"], "{name}");
        }
    }
}

/// What is at the path of a look-up.
pub(crate) fn find(model: &dyn Module, lookup: &Value) -> Result<Value> {
    let path = lookup["path"].as_str().expect("a path");
    match lookup["call"].as_str() {
        Some("get_submodule") => model.get_submodule(path).map(|m| json!(m.kind())),
        Some("get_parameter") => model.get_parameter(path).map(|p| json!(p.shape().to_vec())),
        _ => model
            .get_buffer(path)
            .map(|b| json!(b.tensor().shape().to_vec())),
    }
}

#[test]
fn lookups_find_the_same_members_as_pytorch() {
    let case = cases()
        .into_iter()
        .find(|case| case["name"] == "Mlp")
        .unwrap();
    let model = references::build("Mlp").unwrap().unwrap();
    let lookups = case["lookups"].as_array().expect("look-ups");
    assert!(lookups.len() >= 20);
    for lookup in lookups {
        let found = find(&*model, lookup);
        match found {
            Ok(found) => assert_eq!(found, lookup["found"], "{lookup}"),
            Err(error) => {
                assert!(lookup.get("error").is_some(), "{lookup}: {error}");
                let step = match error.downcast_ref() {
                    Some(ModuleError::NoSuchMember { step, .. }) => step,
                    Some(ModuleError::WrongMember { step, .. }) => step,
                    _ => panic!("{lookup}: {error}"),
                };
                let quoted = format!("`{step}`");
                assert!(
                    lookup["error"].as_str().unwrap().contains(&quoted),
                    "{lookup}: {error}"
                );
            }
        }
    }
}

#[test]
fn a_mutable_lookup_can_replace_the_member_it_finds() {
    let mut model = references::build("Nested").unwrap().unwrap();
    let inner = model.get_submodule_mut("body.table.left.0").unwrap();
    let inner: &mut dyn std::any::Any = inner;
    *inner.downcast_mut::<Linear>().unwrap() = Linear::new(2, 7).unwrap();
    let shape = model
        .get_parameter("body.table.left.0.weight")
        .unwrap()
        .shape();
    assert_eq!(shape.to_string(), "[7, 2]");
    assert!(model.get_submodule_mut("body.table.middle").is_err());
    let mut shared = references::build("Shared").unwrap().unwrap();
    let error = shared.get_submodule_mut("first").map(|_| ()).unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(ModuleError::SharedModule { .. })),
        "{error}"
    );
}
