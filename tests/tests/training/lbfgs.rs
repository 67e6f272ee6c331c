//! LBFGS steps like PyTorch's, with and without a line search, and resumes from a checkpoint.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::TorchObject;
use module_nn::functional::{Reduction, mse_loss};
use module_nn::optim::{LBFGS, LBFGSConfig, OptimizerError};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

struct Run {
    model: Sequential,
    x: Tensor,
    y: Tensor,
    /// -1 to maximize.
    sign: f64,
}

impl Run {
    fn new(case: &Value, tensors: &StateDict) -> Self {
        let dtype = if case["dtype"] == "f64" {
            DType::F64
        } else {
            DType::F32
        };
        let get = |name: &str| {
            let tensor = tensors.get(name).expect("recorded");
            tensor.to_dtype(dtype).unwrap()
        };
        let model = Sequential::new().push(Linear::new(3, 8).unwrap());
        let model = model.push(Tanh::new()).push(Linear::new(8, 2).unwrap());
        model.to_dtype(dtype).unwrap();
        for (path, parameter) in model.named_parameters() {
            parameter.set(get(&format!("init.{path}"))).unwrap();
        }
        let sign = if case["kwargs"]["maximize"] == true {
            -1.0
        } else {
            1.0
        };
        let (x, y) = (get("x"), get("y"));
        Self { model, x, y, sign }
    }

    fn step(&self, optimizer: &mut LBFGS) -> f64 {
        let loss = || {
            let out = self.model.call(self.x.clone())?;
            mse_loss(&out, &self.y, Reduction::Mean)?.mul(self.sign)
        };
        optimizer.step(&self.model, loss).unwrap()
    }
}

fn config(case: &Value) -> LBFGSConfig {
    serde_json::from_value(case["kwargs"].clone()).expect("arguments")
}

#[test]
fn steps_are_those_of_pytorch() {
    let (recorded, tensors) = golden::load("lbfgs.safetensors");
    let cases = recorded["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 14);
    let mut failures = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let run = Run::new(case, &tensors);
        let mut optimizer = config(case).build(&run.model).unwrap();
        let close = if case["dtype"] == "f64" { 1e-9 } else { 1e-4 };
        for (step, loss) in case["losses"]
            .as_array()
            .expect("losses")
            .iter()
            .enumerate()
        {
            let (ours, loss) = (run.step(&mut optimizer), loss.as_f64().expect("a number"));
            if (ours - loss).abs() > close * loss.abs() + 1e-12 {
                failures.push(format!("{case}: step {step}: {ours} instead of {loss}"));
            }
        }
        let history: Value = optimizer.state().unwrap().get("history").unwrap();
        if history["func_evals"] != case["func_evals"] {
            failures.push(format!("{case}: {}", history["func_evals"]));
        }
        for (path, parameter) in run.model.named_parameters() {
            let end = tensors
                .get(&format!("{number}/end.{path}"))
                .expect("recorded");
            let (ours, end) = match case["dtype"] == "f64" {
                // Rounding errors grow from step to step.
                true => (
                    parameter.detach().to_dtype(DType::F32).unwrap(),
                    end.to_dtype(DType::F32).unwrap(),
                ),
                false => (parameter.detach(), end.clone()),
            };
            if let Err(text) = compare(&ours, &end, Tolerance::CONTRACTION) {
                failures.push(format!("{case}: {path}: {text}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_run_continues_bit_for_bit() {
    let (recorded, tensors) = golden::load("lbfgs.safetensors");
    for case in recorded["cases"].as_array().expect("cases") {
        let (whole, resumed) = (Run::new(case, &tensors), Run::new(case, &tensors));
        let mut optimizer = config(case).build(&whole.model).unwrap();
        whole.step(&mut optimizer);
        let state = optimizer.state().unwrap();
        let _ = resumed
            .model
            .load_state_dict(&whole.model.state_dict().unwrap())
            .unwrap();
        let mut second = LBFGS::new(&resumed.model, 0.1).unwrap();
        second.load_state(&state).unwrap();
        for _ in 0..2 {
            assert_eq!(whole.step(&mut optimizer), resumed.step(&mut second));
        }
        for (a, b) in whole.model.parameters().zip(resumed.model.parameters()) {
            compare(&a.detach(), &b.detach(), Tolerance::EXACT).unwrap();
        }
    }
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let model = Linear::new(2, 1).unwrap();
    assert!(LBFGS::new(&model, -1.0).is_err());
    let mut optimizer = LBFGS::new(&model, 1.0).unwrap();
    for lr in [-1.0, f64::NAN] {
        let error = optimizer.set_lr(lr).unwrap_err().to_string();
        assert_eq!(error, format!("LBFGS: lr = {lr}: must be at least 0"));
        assert_eq!(optimizer.lr(), 1.0);
    }
    optimizer.set_lr(0.5).unwrap();
    assert_eq!(optimizer.lr(), 0.5);
    // Of a state too.
    let mut config = LBFGSConfig::new(1.0);
    config.lr = -1.0;
    let state = optimizer.state().unwrap().with("config", &config).unwrap();
    let error = optimizer.load_state(&state).unwrap_err().to_string();
    assert_eq!(error, "LBFGS: lr = -1: must be at least 0");
    let loss = || Tensor::from(1.0_f32).add(Parameter::new(Tensor::from(1.0_f32))?.tensor());
    let error = optimizer.step(&model, loss).unwrap_err();
    assert!(
        matches!(
            error.downcast_ref(),
            Some(OptimizerError::NoGradients { .. })
        ),
        "{error}"
    );
    let other = Linear::new(2, 1).unwrap();
    let error = optimizer
        .step(&other, || Ok(Tensor::from(1.0_f32)))
        .unwrap_err();
    assert!(
        matches!(
            error.downcast_ref(),
            Some(OptimizerError::Parameters { .. })
        ),
        "{error}"
    );
    let sgd = SGD::new(&model, 0.1).unwrap().state().unwrap();
    assert!(
        optimizer
            .load_state(&sgd)
            .unwrap_err()
            .to_string()
            .contains("it is the state of SGD")
    );
}

/// The cases whose optimizer PyTorch saved in the middle: their number, and the number of steps before saving.
fn saved(cases: &[Value]) -> impl Iterator<Item = (usize, &Value, usize)> {
    let numbered = cases.iter().enumerate();
    numbered.filter_map(|(n, case)| Some((n, case, case["saved"].as_u64()? as usize)))
}

#[test]
fn a_run_of_pytorch_continues_here() {
    let (recorded, tensors) = golden::load("lbfgs.safetensors");
    let cases = recorded["cases"].as_array().expect("cases");
    assert_eq!(saved(cases).count(), 7);
    for (number, case, steps) in saved(cases) {
        let run = Run::new(case, &tensors);
        for (path, parameter) in run.model.named_parameters() {
            let value = tensors.get(&format!("{number}/saved.{path}"));
            parameter.set(value.expect("recorded").clone()).unwrap();
        }
        // The options come from the file.
        let mut optimizer = LBFGS::new(&run.model, 9.0).unwrap();
        let path = golden::path(format!("torch_optimizers/lbfgs_{number}.pt"));
        optimizer.load_torch(&path).unwrap();
        let losses = case["losses"].as_array().expect("losses");
        for (step, loss) in losses.iter().enumerate().skip(steps) {
            let (ours, loss) = (run.step(&mut optimizer), loss.as_f64().expect("a number"));
            assert!(
                (ours - loss).abs() <= 1e-9 * loss.abs() + 1e-12,
                "{case}: step {step}: {ours} instead of {loss}"
            );
        }
    }
}

/// PyTorch reads the same from our file as it wrote itself.
#[test]
fn what_was_loaded_is_written_as_pytorch_does() {
    let (recorded, tensors) = golden::load("lbfgs.safetensors");
    for (number, case, _) in saved(recorded["cases"].as_array().expect("cases")) {
        let run = Run::new(case, &tensors);
        let mut optimizer = LBFGS::new(&run.model, 9.0).unwrap();
        let theirs =
            TorchObject::load(golden::path(format!("torch_optimizers/lbfgs_{number}.pt"))).unwrap();
        optimizer.load_torch_state_dict(&theirs).unwrap();
        let bytes = optimizer.torch_state_dict().unwrap().to_bytes().unwrap();
        let ours = TorchObject::from_bytes(bytes).unwrap();
        assert_same(&ours, &theirs, "");
        let mut again = LBFGS::new(&run.model, 9.0).unwrap();
        again.load_torch_state_dict(&ours).unwrap();
        assert_eq!(bits(&again), bits(&optimizer));
    }
}

/// PyTorch finds these two missing, and creates them again.
const NOT_WRITTEN: [&str; 2] = ["al", "prev_loss"];

fn assert_same(ours: &TorchObject, theirs: &TorchObject, place: &str) {
    match (ours, theirs) {
        (TorchObject::Dict(own), TorchObject::Dict(all)) => {
            let text = |key: &TorchObject| match key {
                TorchObject::Text(text) => text.clone(),
                other => other.to_string(),
            };
            let own: Vec<_> = own.iter().map(|(key, value)| (text(key), value)).collect();
            let all = all.iter().map(|(key, value)| (text(key), value));
            let all: Vec<_> = all
                .filter(|(key, _)| !NOT_WRITTEN.contains(&key.as_str()))
                .collect();
            assert_eq!(own.len(), all.len(), "{place}");
            for ((key, ours), (name, theirs)) in own.iter().zip(&all) {
                assert_eq!(key, name, "{place}");
                assert_same(ours, theirs, &format!("{place}.{key}"));
            }
        }
        (TorchObject::List(own), TorchObject::List(all)) => {
            assert_eq!(own.len(), all.len(), "{place}");
            for (i, (ours, theirs)) in own.iter().zip(all).enumerate() {
                assert_same(ours, theirs, &format!("{place}[{i}]"));
            }
        }
        (TorchObject::Tensor(ours), TorchObject::Tensor(theirs)) => {
            compare(ours, theirs, Tolerance::EXACT).unwrap_or_else(|e| panic!("{place}: {e}"));
        }
        // A step may be either.
        (TorchObject::Float(ours), TorchObject::Tensor(theirs)) if place.ends_with(".t") => {
            assert_eq!(
                *ours,
                theirs.to_dtype(DType::F64).unwrap().item::<f64>().unwrap()
            );
        }
        _ => assert_eq!(ours.to_string(), theirs.to_string(), "{place}"),
    }
}

fn bits(optimizer: &LBFGS) -> Vec<(String, Vec<f64>)> {
    let state = optimizer.state().unwrap();
    let tensors = state.tensors().iter();
    let numbers = |x: &Tensor| x.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
    tensors
        .map(|(name, x)| (name.to_owned(), numbers(x)))
        .collect()
}

#[test]
fn states_that_do_not_fit_are_refused_and_change_nothing() {
    let (recorded, tensors) = golden::load("lbfgs.safetensors");
    let run = Run::new(&recorded["cases"][0], &tensors);
    let mut optimizer = LBFGS::new(&run.model, 0.25).unwrap();
    run.step(&mut optimizer);
    let before = bits(&optimizer);
    let good = TorchObject::load(golden::path("torch_optimizers/lbfgs_0.pt")).unwrap();
    let other = Linear::new(2, 2).unwrap();
    let mut of_another = LBFGS::new(&other, 0.25).unwrap();
    let error = of_another
        .load_torch_state_dict(&good)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("is of 4 parameter(s), and this optimizer has 2"),
        "{error}"
    );
    for (wrong, text) in [
        (TorchObject::Int(3), "is not an `optimizer.state_dict()`"),
        (without(&good, "t"), "`t`: it is missing"),
        (without(&good, "lr"), "`lr`: it is missing"),
        (with(&good, "lr", (-1.0).into()), "`lr`: -1 is below 0"),
        (
            with(&good, "line_search_fn", "armijo".into()),
            "`line_search_fn`: the text `armijo` is not known",
        ),
        (
            with(&good, "d", TorchObject::Tensor(Tensor::from([1.0]))),
            "`d`: it has the shape [1]",
        ),
        (
            with(&good, "ro", TorchObject::List(Vec::new())),
            "`old_dirs`, `old_stps` and `ro` have",
        ),
    ] {
        let error = optimizer.load_torch_state_dict(&wrong).unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!((bits(&optimizer), optimizer.lr()), (before.clone(), 0.25));
    }
}

/// An object without a given name, wherever it occurs.
fn without(object: &TorchObject, name: &str) -> TorchObject {
    change(object, name, &None)
}

fn with(object: &TorchObject, name: &str, value: TorchObject) -> TorchObject {
    change(object, name, &Some(value))
}

fn change(object: &TorchObject, name: &str, to: &Option<TorchObject>) -> TorchObject {
    match object {
        TorchObject::Dict(pairs) => {
            let changed = pairs.iter().filter_map(|(key, value)| match key {
                TorchObject::Text(text) if text == name => Some((key.clone(), to.clone()?)),
                _ => Some((key.clone(), change(value, name, to))),
            });
            TorchObject::Dict(changed.collect())
        }
        TorchObject::List(items) => {
            TorchObject::List(items.iter().map(|item| change(item, name, to)).collect())
        }
        other => other.clone(),
    }
}
