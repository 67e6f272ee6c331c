//! LBFGS steps as PyTorch's, with and without a line search, and goes on from a checkpoint.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::functional::{Reduction, mse_loss};
use module_nn::optim::{LBFGS, LBFGSConfig, OptimizerError};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

struct Run {
    model: Sequential,
    x: Tensor,
    y: Tensor,
    /// -1 to climb.
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
fn a_run_goes_on_bit_for_bit() {
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
