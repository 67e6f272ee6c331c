//! Keys of older checkpoints: PyTorch's older `torch.nn.utils.weight_norm` saved `weight_g` and `weight_v`.

use module_nn::parametrize::weight_norm;
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, assert_close};

fn net() -> Sequential {
    let flat = LinearConfig::new(9, 4).bias(false).build().unwrap();
    Sequential::new()
        .push(weight_norm(Conv1d::new(2, 3, 2).unwrap(), Some(0)).unwrap())
        .push(Flatten::new())
        .push(Sequential::new().push(weight_norm(flat, Some(1)).unwrap()))
        .push(weight_norm(Linear::new(4, 2).unwrap(), None).unwrap())
}

fn old() -> StateDict {
    StateDict::load(golden::path("old_weight_norm.pt")).unwrap()
}

/// Checks that the old checkpoint was loaded.
fn assert_loaded(net: &Sequential) {
    let (_, expected) = golden::load("old_weight_norm.safetensors");
    let y = net.call(expected.get("in").unwrap().clone()).unwrap();
    let out = expected.get("out").unwrap();
    assert_close(&y, out, Tolerance::CONTRACTION, "old weight norm");
}

/// The error of a load that changes nothing.
fn refused(net: &Sequential, state: &StateDict) -> String {
    let before = net.state_dict().unwrap();
    let error = net.load_state_dict(state).unwrap_err().to_string();
    let after = net.state_dict().unwrap();
    for (key, value) in before.iter() {
        assert!(value.equal(after.get(key).unwrap()).unwrap(), "{key}");
    }
    error
}

#[test]
fn an_old_weight_norm_is_loaded_under_its_new_keys() {
    let net = net();
    let report = net.load(golden::path("old_weight_norm.pt")).unwrap();
    assert_eq!(report.to_string(), "<All keys matched successfully>");
    assert!(
        report
            .loaded
            .contains(&"2.0.parametrizations.weight.original1".to_owned())
    );
    assert_loaded(&net);
    // What is saved has the new keys, and loads too.
    let state = net.state_dict().unwrap();
    assert!(state.keys().all(|key| !key.contains("weight_")));
    let other = self::net();
    assert!(other.load_state_dict(&state).unwrap().not_loaded.is_empty());
    assert_loaded(&other);
}

#[test]
fn an_old_key_without_the_other_is_reported() {
    let net = net();
    let mut state = old();
    let v = state.remove("2.0.weight_v").unwrap();
    let error = refused(&net, &state);
    let missing = r#"Missing key(s) in state_dict: "2.0.parametrizations.weight.original0", "2.0.parametrizations.weight.original1"."#;
    assert!(error.contains(missing), "{error}");
    let unexpected = r#"Unexpected key(s) in state_dict: "2.0.weight_g"."#;
    assert!(error.contains(unexpected), "{error}");

    // One of each form.
    state.insert("2.0.parametrizations.weight.original1", v);
    let error = refused(&net, &state);
    let missing = r#"Missing key(s) in state_dict: "2.0.parametrizations.weight.original0"."#;
    assert!(error.contains(missing), "{error}");
    assert!(error.contains(unexpected), "{error}");
}

#[test]
fn old_keys_beside_the_new_ones_are_reported() {
    let net = net();
    let mut state = net.state_dict().unwrap();
    for (key, value) in old().iter().filter(|(key, _)| key.starts_with("3.weight")) {
        state.insert(key, value.clone());
    }
    let error = refused(&net, &state);
    let unexpected = r#"Unexpected key(s) in state_dict: "3.weight_g", "3.weight_v"."#;
    assert!(error.contains(unexpected), "{error}");
    assert!(!error.contains("Missing"), "{error}");

    // A plain layer has no older form.
    let plain = Sequential::new().push(Linear::new(4, 2).unwrap());
    let part = old().filter("3").unwrap().strip_prefix("3").unwrap();
    let error = refused(&plain, &part.add_prefix("0").unwrap());
    assert!(error.contains("0.weight_g"), "{error}");
}

#[test]
fn hooks_see_the_new_keys_and_may_supply_old_ones() {
    let net = net();
    let outer = net.register_load_state_dict_pre_hook(|call| {
        for key in ["0.weight_g", "0.weight_v"] {
            let state = call.state_mut();
            state.rename(&key.replace('0', "first"), key)?;
        }
        Ok::<_, Error>(())
    });
    let last = net
        .get_submodule("3")
        .unwrap()
        .register_load_state_dict_pre_hook(|call| {
            assert!(
                call.state()
                    .contains_key("3.parametrizations.weight.original0")
            );
        });
    let mut state = old();
    for key in ["0.weight_g", "0.weight_v"] {
        state.rename(key, key.replace('0', "first")).unwrap();
    }
    assert!(net.load_state_dict(&state).unwrap().not_loaded.is_empty());
    drop((outer, last));
    assert_loaded(&net);
}
