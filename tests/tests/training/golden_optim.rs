//! Optimizers move parameters as PyTorch's do, step by step.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::Snapshot;
use module_nn::optim::{AdamWConfig, SGDConfig};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

/// Files that are not run start so, with the reason.
const NOT_RUN: [(&str, &str); 2] = [("adam.", NO_ADAM), ("adam_", NO_ADAM)];
const NO_ADAM: &str = "there is no Adam without decoupled weight decay";

#[derive(Module)]
struct Two {
    p0: Parameter,
    p1: Parameter,
}

/// The arguments of one case; each must be taken.
struct Arguments(serde_json::Map<String, Value>);

impl Arguments {
    fn number(&mut self, name: &str, default: f64) -> f64 {
        let value = self.0.remove(name);
        value.map_or(default, |value| value.as_f64().expect("a number"))
    }

    fn flag(&mut self, name: &str) -> bool {
        let value = self.0.remove(name);
        value.is_some_and(|value| value.as_bool().expect("a flag"))
    }
}

/// What steps, and what a checkpoint keeps of it.
trait Saved: Optimizer + Stateful {}

impl<O: Optimizer + Stateful> Saved for O {}

fn build(case: &Value, model: &dyn Module) -> Result<Box<dyn Saved>> {
    let mut kwargs = Arguments(case["kwargs"].as_object().expect("arguments").clone());
    let optimizer: Box<dyn Saved> = match case["optimizer"].as_str() {
        Some("SGD") => Box::new(
            SGDConfig::new(kwargs.number("lr", 1e-3))
                .momentum(kwargs.number("momentum", 0.0))
                .dampening(kwargs.number("dampening", 0.0))
                .weight_decay(kwargs.number("weight_decay", 0.0))
                .nesterov(kwargs.flag("nesterov"))
                .maximize(kwargs.flag("maximize"))
                .build(model)?,
        ),
        Some("AdamW") => {
            let mut config = AdamWConfig::new(kwargs.number("lr", 1e-3));
            if let Some(betas) = kwargs.0.remove("betas") {
                let beta = |i: usize| betas[i].as_f64().expect("a number");
                config = config.betas((beta(0), beta(1)));
            }
            if let Some(eps) = kwargs.0.remove("eps") {
                config = config.eps(eps.as_f64().expect("a number"));
            }
            if let Some(decay) = kwargs.0.remove("weight_decay") {
                config = config.weight_decay(decay.as_f64().expect("a number"));
            }
            let config = config.amsgrad(kwargs.flag("amsgrad"));
            Box::new(config.maximize(kwargs.flag("maximize")).build(model)?)
        }
        _ => panic!("an unknown optimizer: {}", case["optimizer"]),
    };
    assert!(kwargs.0.is_empty(), "arguments left: {:?}", kwargs.0);
    Ok(optimizer)
}

/// Every tensor of the state has PyTorch's name and value, so that a resumed run, or another program,
/// finds what it looks for.
fn compare_states(state: &Snapshot, tensors: &StateDict) -> std::result::Result<(), String> {
    let recorded = tensors
        .iter()
        .filter_map(|(name, tensor)| Some((name.strip_prefix("state.")?, tensor)));
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
                optimizer.set_lr(rate);
                assert_eq!(optimizer.lr(), rate);
            }
            optimizer.step(&model)?;
            for (name, parameter) in model.named_parameters() {
                let expected = row(&format!("after.{name}"), step)?;
                // Half precision is rounded so often that only PyTorch's own steps give these.
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
        Ok(compare_states(&optimizer.state()?, tensors))
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
        if NOT_RUN.iter().any(|(start, _)| name.starts_with(start)) {
            continue;
        }
        let (case, tensors) = golden::load(format!("optim/{name}"));
        ran += 1;
        if let Err(problem) = check(&case, &tensors) {
            failures.push(format!("{name}: {problem}"));
        }
    }
    assert!(ran >= 26, "only {ran} cases ran");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
