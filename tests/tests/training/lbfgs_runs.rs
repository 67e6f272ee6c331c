//! A hundred steps of LBFGS on a strongly convex loss, compared with PyTorch; and the same after resuming.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

use module_nn::functional::{CrossEntropyOptions, cross_entropy};
use module_nn::optim::{LBFGS, LBFGSConfig};
use module_nn::prelude::*;
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;

/// The step at which the resumed run was stopped.
const STOPPED: usize = 57;

struct Run<'a> {
    case: &'a Value,
    tensors: &'a StateDict,
    model: Linear,
    x: Tensor,
}

impl<'a> Run<'a> {
    fn new(case: &'a Value, tensors: &'a StateDict) -> Self {
        let dtype = match case["dtype"].as_str() {
            Some("f64") => DType::F64,
            _ => DType::F32,
        };
        let get = |name: &str| tensors.get(name).expect(name).to_dtype(dtype).unwrap();
        let model = Linear::new(6, 3).unwrap();
        model.to_dtype(dtype).unwrap();
        for (path, parameter) in model.named_parameters() {
            parameter.set(get(&path.to_string())).unwrap();
        }
        let x = get("x");
        Self {
            case,
            tensors,
            model,
            x,
        }
    }

    fn loss(&self) -> Result<Tensor> {
        let target = self.tensors.get("y").expect("y");
        let mut loss = cross_entropy(
            &self.model.call(self.x.clone())?,
            target,
            CrossEntropyOptions::new(),
        )?;
        let mut squares = Vec::new();
        for parameter in self.model.parameters() {
            squares.push(parameter.tensor().square()?.sum(..)?);
        }
        loss = loss.add(squares[0].add(&squares[1])?.mul(0.3)?)?;
        match self.case["kwargs"]["maximize"] == true {
            true => loss.neg(),
            false => Ok(loss),
        }
    }

    fn step(&self, optimizer: &mut LBFGS) -> f64 {
        optimizer.step(&self.model, || self.loss()).unwrap()
    }
}

/// Compares a case, whose tensors begin with `number`, with PyTorch's.
fn check(
    number: usize,
    case: &Value,
    recorded: &[Value],
    tensors: &StateDict,
) -> std::result::Result<(), String> {
    let config: LBFGSConfig = serde_json::from_value(case["kwargs"].clone()).expect("arguments");
    let run = Run::new(case, tensors);
    let mut optimizer = config.build(&run.model).unwrap();
    let mut saved = None;
    let losses = case["losses"].as_array().expect("losses");
    let close = if case["dtype"] == "f64" { 1e-12 } else { 1e-5 };
    for (step, loss) in losses.iter().enumerate() {
        if step == STOPPED {
            saved = Some((optimizer.state().unwrap(), run.model.state_dict().unwrap()));
        }
        let (ours, loss) = (run.step(&mut optimizer), loss.as_f64().expect("a number"));
        if (ours - loss).abs() > close * loss.abs() {
            return Err(format!("step {}: {ours} instead of {loss}", step + 1));
        }
        let Some(row) = recorded.iter().position(|at| *at == step + 1) else {
            continue;
        };
        for (path, parameter) in run.model.named_parameters() {
            let after = tensors.get(&format!("{number}/after.{path}"));
            let after = after.expect("recorded").select(0, row as isize).unwrap();
            compare(&parameter.detach(), &after, Tolerance::CONTRACTION)
                .map_err(|text| format!("{path} after step {}: {text}", step + 1))?;
        }
    }
    let history: Value = optimizer.state().unwrap().get("history").unwrap();
    if history["func_evals"] != case["func_evals"] {
        return Err(format!("{} evaluations", history["func_evals"]));
    }

    let (state, values) = saved.expect("stopped");
    let resumed = Run::new(case, tensors);
    let _ = resumed.model.load_state_dict(&values).unwrap();
    let mut optimizer = LBFGS::new(&resumed.model, 9.0).unwrap();
    optimizer.load_state(&state).unwrap();
    for _ in STOPPED..losses.len() {
        resumed.step(&mut optimizer);
    }
    for (ours, resumed) in run.model.parameters().zip(resumed.model.parameters()) {
        compare(&resumed.detach(), &ours.detach(), Tolerance::EXACT)
            .map_err(|text| format!("after a resume: {text}"))?;
    }
    Ok(())
}

#[test]
fn a_hundred_steps_are_those_of_pytorch_and_a_resume_changes_no_bit() {
    let (case, tensors) = golden::load("lbfgs_runs.safetensors");
    let recorded = case["recorded"].as_array().expect("a list");
    let cases = case["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 18);
    let results = cases.iter().enumerate().map(|(number, case)| {
        assert_eq!(case["losses"].as_array().map(Vec::len), Some(100));
        check(number, case, recorded, &tensors)
            .map_err(|text| format!("{number}: {} {}: {text}", case["kwargs"], case["dtype"]))
    });
    let failures: Vec<String> = results.filter_map(std::result::Result::err).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
