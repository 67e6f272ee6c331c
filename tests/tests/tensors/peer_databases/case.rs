//! One recorded call of an operation, and the differences from PyTorch's results and gradients.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use module_core::autograd::grad_with;
use module_core::{BackwardOptions, DType, ErrorKind, StateDict, Tensor, fork_rng};
use module_tests::golden::{Tolerance, compare};
use serde_json::Value;

use super::tables::arguments::{Call, Op, Outputs, Stop};

/// One case: its description, and its tensors by the keys of the file.
pub(crate) struct Case<'a> {
    pub(crate) case: &'a Value,
    pub(crate) prefix: String,
    pub(crate) tensors: &'a StateDict,
}

impl Case<'_> {
    pub(crate) fn text(&self, name: &str) -> &str {
        self.case[name].as_str().unwrap_or_default()
    }

    pub(crate) fn get(&self, what: &str, i: usize) -> Option<&Tensor> {
        self.tensors.get(&format!("{}/{what}/{i}", self.prefix))
    }

    /// The leaves.
    fn inputs(&self) -> Vec<Tensor> {
        let grads = self.case["grad"].as_array().expect("a list");
        let input = |(i, grad): (usize, &Value)| {
            let values = self.get("in", i).expect("an input");
            match grad == 1 {
                true => values.detach().with_grad().unwrap(),
                false => values.detach(),
            }
        };
        grads.iter().enumerate().map(input).collect()
    }

    /// The tensors of the call: the leaves, or views of them.
    fn viewed(&self, leaves: &[Tensor]) -> Result<Vec<Tensor>, Stop> {
        let viewed = |(i, leaf): (usize, &Tensor)| match self.case["views"][i].as_array() {
            None => Ok(leaf.clone()),
            Some(steps) => steps.iter().try_fold(leaf.clone(), view),
        };
        let views: module_core::Result<Vec<Tensor>> =
            leaves.iter().enumerate().map(viewed).collect();
        Ok(views?)
    }

    fn outputs(&self, op: &Op, inputs: &[Tensor]) -> Outputs {
        let tensors = self.viewed(inputs)?;
        let call = Call {
            tensors: &tensors,
            positional: self.case["args"].as_array().expect("a list"),
            named: self.case["named"].as_object().expect("names"),
            dtype: self.text("dtype"),
            read: RefCell::default(),
        };
        let outputs = fork_rng(42, || op.1(&call))?;
        match call.unread() {
            Some(name) => Err(Stop::NotOurs(format!("argument {name}"))),
            None => Ok(outputs),
        }
    }

    fn tolerance(&self, what: &str) -> Tolerance {
        let part = if what == "out" { "out" } else { "gin" };
        match self.case["tolerance"][part].as_str() {
            Some("exact") => Tolerance::EXACT,
            Some("elementwise") => Tolerance::ELEMENTWISE,
            Some("difference") => Tolerance::DIFFERENCE,
            Some(_) => Tolerance::CONTRACTION,
            // Gradients of normalizations are differences of larger numbers.
            None if self.text("op").contains("norm") && what != "out" => Tolerance::DIFFERENCE,
            None => Tolerance::CONTRACTION,
        }
    }

    fn close(&self, actual: &Tensor, what: &str, i: usize) -> Result<(), String> {
        let expected = self.get(what, i);
        let expected = expected.ok_or(format!("{what}/{i} was not recorded"))?;
        let actual = actual.detach();
        let Err(difference) = compare(&actual, expected, self.tolerance(what)) else {
            return Ok(());
        };
        match self.get(&format!("torch/{what}"), i) {
            Some(torch) if is_as_close(&actual, torch, expected) => Ok(()),
            _ => Err(format!("{what}/{i}: {difference}")),
        }
    }

    fn check(&self, op: &Op) -> Result<(), String> {
        let inputs = self.inputs();
        let outputs = match self.outputs(op, &inputs) {
            Ok(outputs) => outputs,
            Err(Stop::Refused(error)) => return Err(format!("refused: {error}")),
            Err(Stop::NotOurs(what)) => return Err(format!("not ours: {what}")),
        };
        let recorded = (0..).take_while(|&i| self.get("out", i).is_some()).count();
        let count = (self.case["outputs"].as_u64()).map_or(recorded, |count| count as usize);
        if outputs.len() != count {
            return Err(format!("{} outputs instead of {count}", outputs.len()));
        }
        for (i, output) in outputs.iter().enumerate().take(recorded) {
            self.close(output, "out", i)?;
        }
        self.check_gradients(&inputs, &outputs)
    }

    /// The gradients, and the second-order ones if they were recorded.
    fn check_gradients(&self, inputs: &[Tensor], outputs: &[Tensor]) -> Result<(), String> {
        let from = |tensors: &[Tensor], what: &str| -> Vec<(Tensor, Tensor)> {
            let start =
                |(i, tensor): (usize, &Tensor)| Some((tensor.clone(), self.get(what, i)?.clone()));
            tensors.iter().enumerate().filter_map(start).collect()
        };
        // Gradients that we do not track are zeros in PyTorch, which `compare_gradients` checks.
        let mut starts = from(outputs, "gout");
        starts.retain(|(output, _)| output.requires_grad());
        if self.get("gout", 0).is_none() && starts.is_empty() {
            return Ok(());
        }
        let leaves: Vec<(usize, &Tensor)> = (inputs.iter().enumerate())
            .filter(|(_, input)| input.requires_grad())
            .collect();
        let again = (0..inputs.len()).any(|i| self.get("start", i).is_some());
        let gradients = gradients(&starts, &leaves, again)?;
        self.compare_gradients(&leaves, &gradients, "gin")?;
        if !again {
            return Ok(());
        }
        let starts: Option<Vec<(Tensor, Tensor)>> = (leaves.iter().zip(&gradients))
            .filter_map(|((i, _), gradient)| {
                let start = self.get("start", *i)?;
                Some(Some((gradient.clone()?, start.clone())))
            })
            .collect();
        let starts = starts.unwrap_or_default();
        let followed: Vec<_> = (starts.into_iter())
            .filter(|(gradient, _)| gradient.requires_grad())
            .collect();
        let twice = self::gradients(&followed, &leaves, false)?;
        self.compare_gradients(&leaves, &twice, "twice")
    }

    /// An untracked tensor counts as zeros.
    fn compare_gradients(
        &self,
        leaves: &[(usize, &Tensor)],
        gradients: &[Option<Tensor>],
        what: &str,
    ) -> Result<(), String> {
        for ((i, leaf), gradient) in leaves.iter().zip(gradients) {
            match (gradient, self.get(what, *i)) {
                (Some(gradient), Some(_)) => self.close(gradient, what, *i)?,
                (None, None) => {}
                (None, Some(_)) => self.close(&leaf.detach().zeros_like().unwrap(), what, *i)?,
                (Some(gradient), None) => {
                    let zeros = gradient.detach().zeros_like().unwrap();
                    compare(&gradient.detach(), &zeros, Tolerance::EXACT)
                        .map_err(|_| format!("{what}/{i}: a gradient where PyTorch has none"))?;
                }
            }
        }
        Ok(())
    }

    /// A typed error in lowercase, or no such argument.
    fn check_refused(&self, op: &Op) -> Result<(), String> {
        let error = match self.outputs(op, &self.inputs()) {
            Ok(_) => return Err("it was accepted".to_owned()),
            Err(Stop::NotOurs(_)) => return Ok(()),
            Err(Stop::Refused(error)) => error,
        };
        let message = error.to_string();
        let problem = message.rsplit(": ").next().unwrap_or(&message);
        if matches!(error.kind(), ErrorKind::Custom(_)) {
            return Err(format!("untyped: {message}"));
        }
        match problem.starts_with(char::is_uppercase) || message.ends_with('.') {
            true => Err(format!("not in lower case without a stop: {message}")),
            false => Ok(()),
        }
    }

    /// The difference, if there is one.
    pub(crate) fn difference(&self, op: &Op) -> Option<String> {
        let run = || match self.case["refused"].is_null() {
            true => self.check(op),
            false => self.check_refused(op),
        };
        // A panic in one case must not hide the others.
        let result = catch_unwind(AssertUnwindSafe(run));
        result.unwrap_or(Err("it panicked".to_owned())).err()
    }
}

fn gradients(
    starts: &[(Tensor, Tensor)],
    leaves: &[(usize, &Tensor)],
    create_graph: bool,
) -> Result<Vec<Option<Tensor>>, String> {
    let (of, with): (Vec<&Tensor>, Vec<&Tensor>) = starts.iter().map(|(a, b)| (a, b)).unzip();
    if of.is_empty() {
        return Ok(vec![None; leaves.len()]);
    }
    let at: Vec<&Tensor> = leaves.iter().map(|(_, leaf)| *leaf).collect();
    let options = BackwardOptions::new().create_graph(create_graph);
    grad_with(&of, &with, &at, options).map_err(|error| format!("backward: {error}"))
}

/// One step from a leaf to a tensor of the call: `{"permute": dims}`, `{"slice": [dim, start, end, step]}` or
/// `{"expand": shape}`.
pub(crate) fn view(x: Tensor, step: &Value) -> module_core::Result<Tensor> {
    let (kind, numbers) = step
        .as_object()
        .and_then(|step| step.iter().next())
        .unwrap();
    let numbers: Vec<isize> = serde_json::from_value(numbers.clone()).unwrap();
    match (kind.as_str(), numbers.as_slice()) {
        ("permute", dims) => x.permute(dims),
        ("expand", shape) => x.expand(shape),
        (_, &[dim, start, end, step]) => x.slice(dim, start..end, step),
        _ => panic!("no step of a view: {step}"),
    }
}

/// Whether each element is what PyTorch computes, or not much farther from the expected one than PyTorch's elements are.
///
/// The roundings of the two are independent, so that the largest error of one may be a few times that of the other.
fn is_as_close(actual: &Tensor, torch: &Tensor, expected: &Tensor) -> bool {
    if (actual.dtype(), actual.shape()) != (expected.dtype(), expected.shape()) {
        return false;
    }
    let numbers = |x: &Tensor| x.to_dtype(DType::F64).unwrap().to_vec::<f64>().unwrap();
    let [actual, torch, expected] = [actual, torch, expected].map(numbers);
    let distances = torch.iter().zip(&expected).map(|(a, b)| (a - b).abs());
    let farthest = distances.filter(|d| d.is_finite()).fold(0.0, f64::max) * 4.0;
    (actual.iter().zip(&torch).zip(&expected)).all(|((a, torch), expected)| {
        a == torch
            || a.is_nan() && torch.is_nan()
            || a == expected
            || (a - expected).abs() <= farthest
    })
}
