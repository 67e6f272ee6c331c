//! Loads into a tree.

use module_core::LoadProblems;
use module_nn::prelude::*;
use serde_json::{Value, json};

use super::{list, same};

/// The keys and values of a state dict, where each tensor has one value.
fn values(state: &StateDict) -> Value {
    let value = |x: &Tensor| {
        let all = x.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
        assert!(all.iter().all(|v| *v == all[0]), "{all:?}");
        all[0]
    };
    state
        .iter()
        .map(|(key, x)| json!([key, value(x)]))
        .collect()
}

fn state(described: &Value) -> StateDict {
    let entry = |entry: &Value| {
        let shape: Vec<usize> = serde_json::from_value(entry[1].clone()).unwrap();
        let dtype: DType = entry[2].as_str().unwrap().parse().unwrap();
        let x = Tensor::full(shape, entry[3].as_f64().unwrap(), DType::F64).unwrap();
        (
            entry[0].as_str().unwrap().to_owned(),
            x.to_dtype(dtype).unwrap(),
        )
    };
    list(described).map(entry).collect()
}

pub(super) fn check(model: &dyn Module, recorded: &Value) -> Result<(), String> {
    let before = model.state_dict().map_err(|e| e.to_string())?;
    let strict = recorded["strict"] == true;
    let options = LoadOptions::new().strict(strict);
    let state = state(&recorded["state"]);
    let result = model.load_state_dict_with(&state, options);
    let after = model.state_dict().map_err(|e| e.to_string())?;
    let mismatched = |found: &[module_core::Mismatch]| found.iter().map(|m| json!(m.key)).collect();
    match result {
        Ok(report) if recorded["refused"] == false => {
            same("missing", json!(report.missing), &recorded["missing"])?;
            same(
                "unexpected",
                json!(report.unexpected),
                &recorded["unexpected"],
            )?;
            same(
                "mismatched",
                mismatched(&report.mismatched),
                &recorded["mismatched"],
            )?;
            same("values", values(&after), &recorded["after"])
        }
        Ok(report) => Err(format!("loaded: {report}")),
        Err(error) if recorded["refused"] == true => {
            same("values", values(&after), &values(&before))?;
            let problems: &LoadProblems = error.downcast_ref().ok_or(error.to_string())?;
            // Without `strict` they are not problems, except if they are the reason that nothing fits.
            if strict || problems.loaded == 0 {
                same("missing", json!(problems.missing), &recorded["missing"])?;
                same(
                    "unexpected",
                    json!(problems.unexpected),
                    &recorded["unexpected"],
                )?;
            }
            same("untied", json!(problems.untied), &recorded["untied"])?;
            same(
                "mismatched",
                mismatched(&problems.mismatched),
                &recorded["mismatched"],
            )
        }
        Err(error) => Err(format!("refused: {error}")),
    }
}

/// The bytes of the state dict of one tree, loaded by another.
pub(super) fn check_round_trip(model: &dyn Module, other: &dyn Module) -> Result<(), String> {
    let round_trip = || -> Result<(StateDict, StateDict)> {
        let state = model.state_dict()?;
        for parameter in other.parameters() {
            parameter.set(parameter.detach().zeros_like()?)?;
        }
        for buffer in other.buffers() {
            buffer.set(buffer.tensor().zeros_like()?)?;
        }
        let read = StateDict::from_bytes(state.to_bytes()?)?;
        let _ = other.load_state_dict(&read)?;
        Ok((state, other.state_dict()?))
    };
    let (state, loaded) = round_trip().map_err(|e| format!("by its bytes: {e}"))?;
    same("by its bytes", values(&loaded), &values(&state))
}
