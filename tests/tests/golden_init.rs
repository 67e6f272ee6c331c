//! Weights drawn after a seed are PyTorch's, bit for bit, and use up the same draws.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::prelude::*;
use module_nn::with_default_dtype;
use module_tests::digits::Digits;
use module_tests::golden::{self, Tolerance, compare};
use module_tests::layers::{build, dtype};
use serde_json::Value;

fn mlp() -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(4, 8)?)
        .push(ReLU::new())
        .push(LinearConfig::new(8, 8).bias(false).build()?)
        .push(ReLU::new())
        .push(Linear::new(8, 3)?))
}

fn construct(case: &Value) -> Result<Box<dyn Layer>> {
    Ok(match case["name"].as_str().expect("a name") {
        "mlp" => Box::new(mlp()?),
        "digits" => {
            let width = case["kwargs"]["width"].as_u64().expect("a width");
            Box::new(Digits::new(usize::try_from(width).unwrap(), 0.1)?)
        }
        _ => build(case)?,
    })
}

fn check(case: &Value, tensors: &StateDict) -> std::result::Result<(), String> {
    let name = case["name"].as_str().expect("a name");
    let seed = case["seed"].as_u64().expect("a seed");
    let kind = dtype(&case["dtype"]);
    let made = fork_rng(seed, || {
        let layer = with_default_dtype(kind, || construct(case))?;
        Ok((layer, Tensor::rand([3], DType::F32)?))
    });
    let (layer, next) = made.map_err(|error: Error| error.to_string())?;
    let state = layer.as_module().state_dict().map_err(|e| e.to_string())?;
    let keys = Value::from(state.keys().map(Value::from).collect::<Vec<_>>());
    if case["keys"] != keys {
        return Err(format!("keys {keys} instead of {}", case["keys"]));
    }
    let following = state.iter().chain([("next_rand", &next)]);
    for (key, value) in following {
        let expected = tensors.get(&format!("{name}.{key}")).expect("recorded");
        compare(value, expected, Tolerance::EXACT).map_err(|text| format!("{key}: {text}"))?;
    }
    Ok(())
}

#[test]
fn initial_weights_are_those_of_pytorch() {
    let (cases, tensors) = golden::load("init.safetensors");
    let cases = cases.as_array().expect("a list of cases");
    assert!(cases.len() >= 58, "only {} cases", cases.len());
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| {
            Some(format!(
                "{}: {}",
                case["name"],
                check(case, &tensors).err()?
            ))
        })
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn another_seed_gives_other_weights() {
    let draw = |seed| {
        fork_rng(seed, || {
            Linear::new(3, 2)?.weight().detach().to_vec::<f32>()
        })
    };
    assert_eq!(draw(0).unwrap(), draw(0).unwrap());
    assert_ne!(draw(0).unwrap(), draw(1).unwrap());
}

#[test]
fn resetting_draws_what_the_constructor_drew() {
    let model = fork_rng(0, || Digits::new(4, 0.1)).unwrap();
    let first = model.state_dict().unwrap();
    fork_rng(1, || model.reset_parameters()).unwrap();
    let second = model.state_dict().unwrap();
    assert!(
        compare(
            first.get("head.weight").unwrap(),
            second.get("head.weight").unwrap(),
            Tolerance::EXACT
        )
        .is_err()
    );
    fork_rng(0, || model.reset_parameters()).unwrap();
    for (key, value) in model.state_dict().unwrap().iter() {
        golden::assert_close(value, first.get(key).unwrap(), Tolerance::EXACT, key);
    }
}
