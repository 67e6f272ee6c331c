//! Every layer that PyTorch ran, run here: keys, print, output, gradients and buffers.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use module_nn::BackwardOptions;
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare, lay_out};
use module_tests::layers::{build, build_loss, dtype};
use serde_json::Value;

/// Cases that are not run, with the reason.
const NOT_RUN: [(&str, &str); 0] = [];

/// Cases whose print differs, with the reason.
const PRINTED_OTHERWISE: [(&str, &str); 2] = [
    ("maxpool2d_10.safetensors", TWO_EQUAL),
    ("maxpool2d_11.safetensors", TWO_EQUAL),
];

const TWO_EQUAL: &str = "two equal sizes print as one, however they were given";

/// Fails unless a layer reproduces what a case recorded.
type Check = std::result::Result<(), String>;

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The tensors whose key starts with `prefix`, without it.
fn part(tensors: &StateDict, prefix: &str) -> StateDict {
    let of_prefix = |(key, tensor): (&str, &Tensor)| {
        let key = key.strip_prefix(prefix)?;
        Some((key.to_owned(), tensor.clone()))
    };
    tensors.iter().filter_map(of_prefix).collect()
}

fn close(actual: &Tensor, expected: &Tensor, exact: bool, label: &str) -> Check {
    let tolerance = match exact {
        true => Tolerance::EXACT,
        false => Tolerance::CONTRACTION,
    };
    compare(actual, expected, tolerance).map_err(|difference| format!("{label}: {difference}"))
}

/// Compares every buffer of `module`, and finds that none was recorded besides.
fn check_buffers(module: &dyn Module, expected: &StateDict, label: &str) -> Check {
    let names: Vec<String> = module.named_buffers().map(|(name, _)| name).collect();
    for key in expected.keys() {
        if !names.iter().any(|name| name == key) {
            return Err(format!("{label}: no buffer {key}"));
        }
    }
    for (name, buffer) in module.named_buffers() {
        let label = format!("{label} {name}");
        let expected = expected.get(&name).ok_or(format!("{label}: unrecorded"))?;
        close(&buffer.tensor(), expected, false, &label)?;
    }
    Ok(())
}

fn check_gradients(module: &dyn Module, tensors: &StateDict) -> Check {
    let expected = part(tensors, "grad.");
    let parameters: Vec<_> = module.named_parameters().collect();
    if parameters.len() != expected.len() {
        return Err(format!("{} gradients recorded", expected.len()));
    }
    for (name, parameter) in parameters {
        let grad = parameter.grad().ok_or(format!("{name} has no gradient"))?;
        let expected = expected.get(&name).ok_or(format!("{name}: unrecorded"))?;
        close(&grad, expected, false, &format!("gradient of {name}"))?;
    }
    Ok(())
}

/// What the layer is, before it runs.
fn check_members(name: &str, module: &dyn Module, case: &Value) -> Check {
    let keys: Vec<Value> = module
        .state_dict()
        .map_err(text)?
        .keys()
        .map(Value::from)
        .collect();
    if case["keys"] != Value::from(keys.clone()) {
        return Err(format!("keys {keys:?} instead of {}", case["keys"]));
    }
    let printed = module.tree().to_string();
    let otherwise = PRINTED_OTHERWISE.iter().any(|(listed, _)| *listed == name);
    if (case["repr"] != *printed) != otherwise {
        return Err(format!("prints {printed} instead of {}", case["repr"]));
    }
    Ok(())
}

fn check_layer(name: &str, case: &Value, tensors: &StateDict) -> Check {
    let seed = case["seed"].as_u64().expect("a seed");
    let kind = dtype(&case["dtype"]);
    let layer = golden_layer(case, kind, seed).map_err(text)?;
    let module = layer.as_module();
    check_members(name, module, case)?;
    let state = part(tensors, "param.");
    for (name, parameter) in module.named_parameters() {
        // Batch norms were moved away from their first values before they were recorded.
        if parameter.tensor().rank() > 1 {
            let recorded = state.get(&name).ok_or(format!("{name}: unrecorded"))?;
            close(
                &parameter.tensor().detach(),
                recorded,
                true,
                &format!("first {name}"),
            )?;
        }
    }
    let report = module.load_state_dict(&state).map_err(text)?;
    assert_eq!(report.loaded.len(), state.len());

    for step in 0..case["warmup"].as_u64().expect("a number of warm-up passes") {
        let get = |name: &str| {
            tensors
                .get(&format!("warmup.{step}.{name}"))
                .expect("recorded")
        };
        module.train();
        let output = layer.call(get("input").clone()).map_err(text)?;
        close(
            &output.detach(),
            get("output"),
            false,
            &format!("warm-up {step}"),
        )?;
        let expected = part(tensors, &format!("warmup.{step}.buffer."));
        check_buffers(module, &expected, &format!("after warm-up {step}"))?;
    }

    module.set_training(case["mode"] == "train");
    let layout = case["inputs"][0]["layout"].as_str().expect("a layout");
    let input = lay_out(tensors.get("input.0").expect("an input"), layout)
        .with_grad()
        .unwrap();
    let output = fork_rng(seed, || layer.call(input.clone())).map_err(text)?;
    // Copies and masks have no rounding.
    let exact = ["Identity", "Flatten", "ReLU", "MaxPool2d", "Dropout"];
    let exact = exact.iter().any(|name| case["layer"] == **name);
    close(
        &output.detach(),
        tensors.get("output").expect("an output"),
        exact,
        "output",
    )?;
    let grad = tensors.get("grad_output").expect("a gradient");
    output
        .backward_with(grad, BackwardOptions::default())
        .map_err(text)?;
    let grad = input.grad().ok_or("the input has no gradient")?;
    close(
        &grad,
        tensors.get("grad_input.0").expect("a gradient"),
        false,
        "gradient of the input",
    )?;
    check_gradients(module, tensors)?;
    check_buffers(module, &part(tensors, "buffer_after."), "afterwards")
}

fn golden_layer(case: &Value, kind: DType, seed: u64) -> Result<Box<dyn Layer>> {
    module_nn::with_default_dtype(kind, || fork_rng(seed, || build(case)))
}

fn check_loss(name: &str, case: &Value, tensors: &StateDict) -> Check {
    let loss = build_loss(case, tensors).map_err(text)?;
    check_members(name, &loss, case)?;
    let report = loss
        .load_state_dict_with(&part(tensors, "param."), LoadOptions::new())
        .map_err(text)?;
    assert!(report.fresh.is_empty());
    let layout = case["inputs"][0]["layout"].as_str().expect("a layout");
    let input = lay_out(tensors.get("input.0").expect("an input"), layout)
        .with_grad()
        .unwrap();
    let target = tensors.get("target").expect("a target");
    let target = target.with_grad().unwrap_or_else(|_| target.clone());
    let output = loss.call((input.clone(), target.clone())).map_err(text)?;
    close(
        &output.detach(),
        tensors.get("output").expect("an output"),
        false,
        "loss",
    )?;
    let grad = tensors.get("grad_output").expect("a gradient");
    output
        .backward_with(grad, BackwardOptions::default())
        .map_err(text)?;
    let grad = input.grad().ok_or("the input has no gradient")?;
    close(
        &grad,
        tensors.get("grad_input.0").expect("a gradient"),
        false,
        "gradient of the input",
    )?;
    if let Some(expected) = tensors.get("grad_target") {
        let grad = target.grad().ok_or("the target has no gradient")?;
        close(&grad, expected, false, "gradient of the target")?;
    }
    Ok(())
}

#[test]
fn layers_do_what_pytorch_does() {
    let mut names: Vec<String> = std::fs::read_dir(golden::path("layers"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() > 300, "only {} cases", names.len());
    for (name, _) in NOT_RUN.iter().chain(&PRINTED_OTHERWISE) {
        assert!(names.iter().any(|n| n == name), "no case {name}");
    }
    let mut failures = Vec::new();
    for name in &names {
        let (case, tensors) = golden::load(format!("layers/{name}"));
        let run = || match case["layer"].as_str() {
            Some("CrossEntropyLoss") => check_loss(name, &case, &tensors),
            _ => check_layer(name, &case, &tensors),
        };
        // A panic of one case must not hide the others.
        let result = catch_unwind(AssertUnwindSafe(run)).unwrap_or(Err("it panicked".to_owned()));
        let listed = NOT_RUN.iter().any(|(listed, _)| listed == name);
        match result {
            Err(problem) if !listed => {
                failures.push(format!("{name} {}: {problem}", case["label"]))
            }
            Ok(()) if listed => failures.push(format!("{name} is listed and passes")),
            _ => {}
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} fail:\n{}",
        failures.len(),
        names.len(),
        failures.join("\n")
    );
}
