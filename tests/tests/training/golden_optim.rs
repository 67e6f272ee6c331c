//! Optimizers update parameters like PyTorch's, step by step.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::Snapshot;
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

#[derive(Module)]
struct Two {
    p0: Parameter,
    p1: Parameter,
}

fn build_rule<R: UpdateRule + 'static>(
    case: &Value,
    model: &dyn Module,
) -> Result<Box<dyn Optimizer>> {
    let mut arguments = case["kwargs"].clone();
    if arguments["lr"].is_null() {
        arguments["lr"] = Value::from(1e-3);
    }
    let rule: R = serde_json::from_value(arguments).expect("the arguments of the optimizer");
    Ok(Box::new(rule.build(model)?))
}

fn build(case: &Value, model: &dyn Module) -> Result<Box<dyn Optimizer>> {
    match case["optimizer"].as_str() {
        Some("SGD") => build_rule::<SGDConfig>(case, model),
        Some("Adam") => build_rule::<AdamConfig>(case, model),
        Some("AdamW") => build_rule::<AdamWConfig>(case, model),
        _ => panic!("an unknown optimizer: {}", case["optimizer"]),
    }
}

/// Every tensor of the state has PyTorch's name and value, so that a resumed run or another program finds what it needs.
/// The recorded names begin with `prefix`.
pub(super) fn compare_states(
    state: &Snapshot,
    tensors: &StateDict,
    prefix: &str,
) -> std::result::Result<(), String> {
    let recorded = tensors
        .iter()
        .filter_map(|(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)));
    let mut names = Vec::new();
    for (name, expected) in recorded {
        let Some(tensor) = state.tensors().get(name) else {
            return Err(format!("the state has no `{name}`"));
        };
        let tolerance = match expected.dtype() {
            DType::F16 | DType::BF16 => Tolerance::EXACT,
            _ => Tolerance::CONTRACTION,
        };
        let tensor = tensor
            .to_dtype(expected.dtype())
            .map_err(|error| error.to_string())?;
        compare(&tensor, expected, tolerance).map_err(|text| format!("state {name}: {text}"))?;
        names.push(name.to_owned());
    }
    let mut ours: Vec<String> = state.tensors().keys().map(ToString::to_string).collect();
    names.sort();
    ours.sort();
    match ours == names {
        true => Ok(()),
        false => Err(format!("the state has {ours:?} instead of {names:?}")),
    }
}

fn check(case: &Value, tensors: &StateDict) -> std::result::Result<(), String> {
    let row = |name: &str, step: usize| {
        let all = tensors.get(name).expect("recorded");
        all.narrow(0, step..step + 1)?.squeeze(0)
    };
    let run = || -> Result<std::result::Result<(), String>> {
        let initial = |name: &str| Parameter::new(tensors.get(name).expect("recorded").clone());
        let model = Two {
            p0: initial("init.p0")?,
            p1: initial("init.p1")?,
        };
        let mut optimizer = build(case, &model)?;
        let steps = usize::try_from(case["steps"].as_u64().expect("steps")).unwrap();
        for step in 0..steps {
            model.zero_grad();
            for (name, parameter) in model.named_parameters() {
                let absent = case["absent"][&name].as_array();
                if !absent.is_some_and(|absent| absent.contains(&Value::from(step))) {
                    parameter.set_grad(row(&format!("grads.{name}"), step)?)?;
                }
            }
            if let Some(rate) = case["rates"][step].as_f64() {
                optimizer.set_lr(rate).unwrap();
                assert_eq!(optimizer.lr(), rate);
            }
            optimizer.step(&model)?;
            for (name, parameter) in model.named_parameters() {
                let expected = row(&format!("after.{name}"), step)?;
                // Half precision rounds so often that only PyTorch's own steps give these values.
                let tolerance = match expected.dtype() {
                    DType::F16 | DType::BF16 => Tolerance::EXACT,
                    _ => Tolerance::CONTRACTION,
                };
                let compared = compare(&parameter.detach(), &expected, tolerance);
                if let Err(text) = compared {
                    return Ok(Err(format!("{name} after step {step}: {text}")));
                }
            }
        }
        Ok(compare_states(&optimizer.state()?, tensors, "state."))
    };
    run().map_err(|error| error.to_string())?
}

#[test]
fn optimizers_step_as_pytorch_does() {
    let mut names: Vec<String> = std::fs::read_dir(golden::path("optim"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let (mut failures, mut ran) = (Vec::new(), 0);
    for name in &names {
        let (case, tensors) = golden::load(format!("optim/{name}"));
        ran += 1;
        if let Err(problem) = check(&case, &tensors) {
            failures.push(format!("{name}: {problem}"));
        }
    }
    assert!(ran >= 38, "only {ran} cases ran");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
