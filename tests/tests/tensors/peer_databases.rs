//! PyTorch's own operation database (`op_db`), run here: outputs, gradients and second derivatives, and the same refusals.
//! `golden/peer_databases.py` writes the cases, with a sample of them in the repository; `GOLDEN_PEERS=DIR` runs those in
//! another directory.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod tables;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use module_core::autograd::grad_with;
use module_core::{BackwardOptions, ErrorKind, StateDict, Tensor, fork_rng};
use module_tests::golden::{self, Tolerance, compare};
use serde_json::Value;
use tables::TABLES;
use tables::arguments::{Call, Op, Outputs, Stop};
use tables::different::{BEYOND_THE_SAMPLE, DIFFERENT};

/// One case: its description, and its tensors by the keys of the file.
struct Case<'a> {
    case: &'a Value,
    prefix: String,
    tensors: &'a StateDict,
}

impl Case<'_> {
    fn text(&self, name: &str) -> &str {
        self.case[name].as_str().unwrap_or_default()
    }

    fn get(&self, what: &str, i: usize) -> Option<&Tensor> {
        self.tensors.get(&format!("{}/{what}/{i}", self.prefix))
    }

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

    fn outputs(&self, op: &Op, inputs: &[Tensor]) -> Outputs {
        let call = Call {
            tensors: inputs,
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

    fn close(&self, actual: &Tensor, what: &str, i: usize) -> Result<(), String> {
        let expected = self.get(what, i);
        let expected = expected.ok_or(format!("{what}/{i} was not recorded"))?;
        // Gradients of normalizations are differences of larger numbers.
        let normalizes = self.text("op").contains("norm");
        let tolerance = match normalizes && what != "out" {
            true => Tolerance::DIFFERENCE,
            false => Tolerance::CONTRACTION,
        };
        compare(&actual.detach(), expected, tolerance)
            .map_err(|difference| format!("{what}/{i}: {difference}"))
    }

    fn check(&self, op: &Op) -> Result<(), String> {
        let inputs = self.inputs();
        let outputs = match self.outputs(op, &inputs) {
            Ok(outputs) => outputs,
            Err(Stop::Refused(error)) => return Err(format!("refused: {error}")),
            Err(Stop::NotOurs(what)) => return Err(format!("not ours: {what}")),
        };
        let recorded = (0..).take_while(|&i| self.get("out", i).is_some()).count();
        if outputs.len() != recorded {
            return Err(format!("{} outputs instead of {recorded}", outputs.len()));
        }
        for (i, output) in outputs.iter().enumerate() {
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
    fn difference(&self, op: &Op) -> Option<String> {
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

/// The operations by each of their names.
fn operations() -> BTreeMap<&'static str, Op> {
    let mut operations = BTreeMap::new();
    for &op in TABLES.iter().copied().flatten() {
        for name in op.0.split(' ') {
            assert!(
                operations.insert(name, op).is_none(),
                "{name} is there twice"
            );
        }
    }
    operations
}

/// Operations whose cases are all too large for the sample.
const TOO_LARGE: [&str; 1] = ["nn.functional.ctc_loss"];

fn lists(list: &str, name: &str) -> bool {
    list == "*" || list.split(' ').any(|part| part == name)
}

/// The committed part of PyTorch's databases stays small.
#[test]
fn the_samples_of_the_databases_take_three_megabytes() {
    let files = ["peer_ops.safetensors", "layers_module_db.safetensors"];
    let sizes = files.map(|name| golden::path(name).metadata().expect("a sample").len());
    let total: u64 = sizes.iter().sum();
    assert!(total <= 3_000_000, "{sizes:?}: {total} bytes");
}

#[test]
fn operations_agree_with_pytorch() {
    let (names, everything) = golden::peers("peer_ops");
    let different = [DIFFERENT, BEYOND_THE_SAMPLE].concat();
    let (operations, mut needed, mut run) = (operations(), BTreeSet::new(), BTreeSet::new());
    let (mut count, mut problems) = (0, Vec::new());
    let mut excused: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &names {
        let (cases, tensors) = golden::load(name);
        for (i, case) in cases.as_array().expect("a list").iter().enumerate() {
            let prefix = i.to_string();
            let case = Case {
                case,
                prefix,
                tensors: &tensors,
            };
            let (name, dtype) = (case.text("op"), case.text("dtype"));
            let op = operations.get(name).expect("an operation of the tables");
            run.insert(op.0);
            count += 1;
            let Some(difference) = case.difference(op) else {
                continue;
            };
            let excuse = different.iter().position(|&(ops, dtypes, contains, _)| {
                lists(ops, name) && lists(dtypes, dtype) && difference.contains(contains)
            });
            match excuse {
                Some(excuse) => {
                    needed.insert(excuse);
                    *excused.entry(different[excuse].3).or_default() += 1;
                }
                None => {
                    let (args, named) = (&case.case["args"], &case.case["named"]);
                    problems.push(format!("{i} {name} {dtype} {args} {named}: {difference}"));
                }
            }
        }
    }
    println!("{count} cases of {} operations", run.len());
    for (reason, count) in &excused {
        println!("  {count:5} differ: {reason}");
    }
    for (name, _) in operations.values() {
        if !run.contains(name) && !TOO_LARGE.contains(name) {
            problems.push(format!("{name} has no case"));
        }
    }
    let checked = if everything {
        different.len()
    } else {
        DIFFERENT.len()
    };
    for (i, different) in different.iter().enumerate().take(checked) {
        if !needed.contains(&i) {
            problems.push(format!("nothing needs the exception {different:?}"));
        }
    }
    assert!(
        problems.is_empty(),
        "{} fail:\n{}",
        problems.len(),
        problems.join("\n")
    );
}
