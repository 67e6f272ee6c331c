//! The state dict hooks and the extra state of modules.

use std::cell::RefCell;
use std::rc::Rc;

use module_nn::prelude::*;
use module_tests::golden;
use serde_json::{Value, json};

use super::{assert_same, extra, floats, net};

fn keys(state: &StateDict, prefix: &str) -> Vec<String> {
    let own = state.keys().filter(|key| key.starts_with(prefix));
    own.map(str::to_owned).collect()
}

/// PyTorch loads and runs the hooks of one module after another; here loading has two phases.
fn by_kind(log: &Value, kind: &str) -> Vec<Value> {
    let entries = log.as_array().unwrap().iter();
    entries.filter(|entry| entry[0] == kind).cloned().collect()
}

#[test]
fn hooks_see_their_own_keys_in_pytorchs_order() {
    let text = std::fs::read_to_string(golden::path("state_hooks.json")).unwrap();
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let recorded = &recorded["cases"][0];

    let linear = || Linear::new(1, 1).unwrap();
    let inner = Sequential::new().push(linear());
    let net = Sequential::new().push_named("a", linear()).unwrap();
    let net = net.push_named("c", inner).unwrap();
    let log = Rc::new(RefCell::new(Vec::new()));
    let mut handles = Vec::new();
    for (path, module) in net.named_modules() {
        let write = |kind: &'static str| {
            let (log, path) = (log.clone(), path.clone());
            move |rest: Vec<Value>| {
                let entry: Vec<Value> =
                    [json!(kind), json!(path)].into_iter().chain(rest).collect();
                log.borrow_mut().push(Value::from(entry));
            }
        };
        let pre = write("pre");
        handles
            .push(module.register_state_dict_pre_hook(move |call| pre(vec![json!(call.prefix())])));
        let post = write("post");
        handles.push(module.register_state_dict_post_hook(move |call| {
            let own: Vec<&str> = call.state().keys().collect();
            post(vec![json!(call.prefix()), json!(own)]);
        }));
        let pre = write("load_pre");
        handles.push(module.register_load_state_dict_pre_hook(move |call| {
            let own = keys(call.state(), "");
            // PyTorch tells every hook that loading is strict.
            assert!(!call.strict());
            pre(vec![json!(call.prefix()), json!(own), json!(true)]);
        }));
        let post = write("load_post");
        handles.push(module.register_load_state_dict_post_hook(move |_| post(Vec::new())));
    }
    let mut state = net.state_dict().unwrap();
    assert_eq!(Value::from(log.take()), recorded["saved"]);
    state.remove("a.bias");
    state.insert("c.0.extra", floats([0.0]));
    let lenient = LoadOptions::new().strict(false);
    let report = net.load_state_dict_with(&state, lenient).unwrap();
    assert_eq!(report.unexpected, ["c.0.extra"]);
    let log = Value::from(log.take());
    for kind in ["load_pre", "load_post"] {
        assert_eq!(by_kind(&log, kind), by_kind(&recorded["loaded"], kind));
    }
    drop(handles);
    assert!(net.load_state_dict(&net.state_dict().unwrap()).is_ok());
}

#[test]
fn hooks_edit_saved_entries_in_place() {
    let model = net();
    let plain = model.state_dict().unwrap();
    let block = model.get_submodule("encoder.0").unwrap();
    let hook = block.register_state_dict_post_hook(|call| {
        let state = call.state_mut();
        state
            .rename("encoder.0.fc1.bias", "encoder.0.fc1.shift")
            .unwrap();
        state.remove("encoder.0.norm.num_batches_tracked");
        state.insert("encoder.0.version", Tensor::from(2_i64));
    });
    let edited = model.state_dict().unwrap();
    drop(hook);
    let expected = plain.keys().flat_map(|key| match key {
        "encoder.0.fc1.bias" => vec!["encoder.0.fc1.shift"],
        "encoder.0.norm.num_batches_tracked" => vec!["encoder.0.version"],
        key => vec![key],
    });
    assert!(edited.keys().eq(expected));
    assert!(plain.equal(&model.state_dict().unwrap()).unwrap());
}

#[test]
fn a_hook_that_leaves_its_prefix_or_fails_is_an_error() {
    let model = net();
    let block = model.get_submodule("encoder.0").unwrap();
    let strange = |state: &mut StateDict| drop(state.insert("head.weight", floats([0.0])));
    let hook = block.register_state_dict_post_hook(move |call| strange(call.state_mut()));
    assert_eq!(
        model.state_dict().unwrap_err().to_string(),
        "state_dict: key = head.weight: a hook of the module must keep its prefix, `encoder.0.`"
    );
    drop(hook);
    let _hook = block.register_state_dict_pre_hook(|_| Err(Error::custom("not now")));
    assert_eq!(model.state_dict().unwrap_err().to_string(), "not now");
    assert!(model.head.state_dict().is_ok());
}

#[test]
fn an_older_checkpoint_is_brought_up_to_date_by_a_hook() {
    let (model, other) = (net(), net());
    let mut old = other.state_dict().unwrap();
    old.rename("encoder.1.fc1.bias", "encoder.1.fc1.shift")
        .unwrap();
    old.remove("head.bias");
    let before = old.clone();
    assert!(model.load_state_dict(&old).is_err());
    let block = model.get_submodule("encoder.1").unwrap();
    let _rename = block.register_load_state_dict_pre_hook(|call| {
        let (old, new) = (
            format!("{}fc1.shift", call.prefix()),
            format!("{}fc1.bias", call.prefix()),
        );
        call.state_mut().rename(&old, new)
    });
    let forgive = model.head.register_load_state_dict_post_hook(|call| {
        let key = format!("{}bias", call.prefix());
        call.report_mut().missing.retain(|missing| *missing != key);
    });
    let report = model.load_state_dict(&old).unwrap();
    assert_eq!(report.not_loaded, ["head.bias"]);
    assert_same(&old, &before, "the caller's own");
    let now = model.state_dict().unwrap();
    let bias = "encoder.1.fc1.bias";
    assert!(
        now.filter(bias)
            .unwrap()
            .equal(&other.state_dict().unwrap().filter(bias).unwrap())
            .unwrap()
    );
    drop(forgive);
    assert!(model.load_state_dict(&old).is_err());
}

#[test]
fn extra_state_of_any_type_is_saved_and_loaded() {
    let model = extra();
    model
        .extra
        .set_value(&json!({"words": ["a", "b"], "count": 2}))
        .unwrap();
    let path = std::env::temp_dir().join(format!("extra-{}.safetensors", std::process::id()));
    model.save(&path).unwrap();
    let other = extra();
    assert!(other.load(&path).unwrap().missing.is_empty());
    std::fs::remove_file(path).unwrap();
    assert_eq!(other.extra.value::<Value>().unwrap()["words"][1], "b");
    assert!(other.extra.value::<Vec<i64>>().is_err());
    // It is neither cast nor redrawn.
    other.half().unwrap();
    assert!(other.inner.reset_parameters().is_ok());
    assert_eq!(other.extra.value::<Value>().unwrap()["count"], 2);

    #[derive(Module)]
    struct Two {
        first: ExtraState,
        second: ExtraState,
    }

    let [first, second] = [1, 2].map(|value| ExtraState::from_value(&value).unwrap());
    let error = Two { first, second }.state_dict().unwrap_err();
    assert!(
        matches!(error.downcast_ref(), Some(ModuleError::DuplicateKey { .. })),
        "{error}"
    );
}
