//! Weights drawn after seeding are PyTorch's bit for bit, and consume the same random numbers.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::init::{self, FanMode, KaimingNormal, KaimingUniform, Nonlinearity};
use module_nn::prelude::*;
use module_nn::rng::default_generator;
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
fn resetting_draws_the_same_values_as_the_constructor() {
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

/// The initializer for a call of `torch.nn.init`.
fn initializer(name: &str, kwargs: &Value) -> Box<dyn Init> {
    let number = |name: &str, default: f64| kwargs[name].as_f64().unwrap_or(default);
    let nonlinearity = match kwargs["nonlinearity"].as_str() {
        Some("relu") => Nonlinearity::Relu,
        Some("tanh") => Nonlinearity::Tanh,
        Some("selu") => Nonlinearity::Selu,
        Some("linear") => Nonlinearity::Linear,
        Some("sigmoid") => Nonlinearity::Sigmoid,
        _ => Nonlinearity::LeakyRelu(number("a", 0.0)),
    };
    let mode = match kwargs["mode"] == "fan_out" {
        true => FanMode::FanOut,
        false => FanMode::FanIn,
    };
    let gain = number("gain", 1.0);
    match name {
        "uniform_" => Box::new(init::Uniform {
            low: number("a", 0.0),
            high: number("b", 1.0),
        }),
        "normal_" => Box::new(init::Normal {
            mean: number("mean", 0.0),
            std: number("std", 1.0),
        }),
        "trunc_normal_" => Box::new(init::TruncNormal {
            mean: number("mean", 0.0),
            std: number("std", 1.0),
            a: number("a", -2.0),
            b: number("b", 2.0),
        }),
        "constant_" => Box::new(init::Constant(number("val", 0.0))),
        "zeros_" => Box::new(init::zeros()),
        "ones_" => Box::new(init::ones()),
        "eye_" => Box::new(init::Eye),
        "dirac_" => Box::new(init::Dirac {
            groups: number("groups", 1.0) as usize,
        }),
        "sparse_" => Box::new(init::Sparse {
            sparsity: number("sparsity", 0.0),
            std: number("std", 0.01),
        }),
        "orthogonal_" => Box::new(init::Orthogonal { gain }),
        "xavier_uniform_" => Box::new(init::XavierUniform::new(gain)),
        "xavier_normal_" => Box::new(init::XavierNormal::new(gain)),
        "kaiming_uniform_" => Box::new(KaimingUniform::of(nonlinearity).mode(mode)),
        "kaiming_normal_" => Box::new(KaimingNormal::of(nonlinearity).mode(mode)),
        _ => panic!("unknown: {name}"),
    }
}

#[test]
fn every_function_of_torch_nn_init_draws_the_same() {
    let (cases, tensors) = golden::load("inits.safetensors");
    let cases = cases.as_array().expect("a list of cases").iter();
    let mut problems = Vec::new();
    let mut names = std::collections::BTreeSet::new();
    for (i, case) in cases
        .enumerate()
        .filter(|(_, case)| !case["init"].is_null())
    {
        let name = case["init"].as_str().unwrap();
        names.insert(name);
        let sizes = case["shape"].as_array().unwrap().iter();
        let shape: Shape = sizes.map(|size| size.as_u64().unwrap() as usize).collect();
        let kind = dtype(&case["dtype"]);
        let init = initializer(name, &case["kwargs"]);
        let made = fork_rng(0, || {
            let out = init.init(&shape, kind, &default_generator())?;
            let next = Tensor::rand(2, DType::F32)?;
            Ok::<_, Error>((out, next))
        });
        let (out, next) = made.unwrap();
        // An orthogonal factor is rounded in a different order.
        let tolerance = match name {
            "orthogonal_" => Tolerance::CONTRACTION,
            _ => Tolerance::EXACT,
        };
        let expected = |part: &str| tensors.get(&format!("{i}.{part}")).unwrap();
        let same = compare(&out, expected("out"), tolerance);
        let same = same.and(compare(&next, expected("next"), Tolerance::EXACT));
        if let Err(difference) = same {
            problems.push(format!("{case}: {difference}"));
        }
    }
    assert_eq!(names.len(), 14);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn deep_models_built_in_one_go_are_those_of_pytorch() {
    let (cases, tensors) = golden::load("inits.safetensors");
    let cases = cases.as_array().expect("a list of cases").iter();
    let mut checked = 0;
    for (i, case) in cases.enumerate().filter(|(_, case)| case["init"].is_null()) {
        let kind = dtype(&case["dtype"]);
        let (model, next) = fork_rng(0, || {
            let model = with_default_dtype(kind, || build(case)).unwrap();
            (model, Tensor::rand([2], DType::F32).unwrap())
        });
        let leaves = model
            .modules()
            .filter(|module| module.children().count() == 0);
        assert!(leaves.count() >= 30);
        let state = model.state_dict().unwrap();
        let keys = Value::from(state.keys().map(Value::from).collect::<Vec<_>>());
        assert_eq!(keys, case["keys"]);
        for (key, value) in state.iter() {
            let expected = tensors.get(&format!("{i}.state.{key}")).unwrap();
            golden::assert_close(value, expected, Tolerance::EXACT, key);
        }
        let expected = tensors.get(&format!("{i}.next")).unwrap();
        golden::assert_close(&next, expected, Tolerance::EXACT, "the next draws");
        checked += 1;
    }
    assert_eq!(checked, 2);
}
