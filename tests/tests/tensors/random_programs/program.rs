//! One recorded program, run in several ways.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use module_core::activation_checkpoint::checkpoint;
use module_core::{DType, Device, Error, StateDict, Tensor, no_grad};
use module_tests::golden;
use serde_json::Value;

use super::code::{Code, Results, gradients};
use crate::peer_databases::case::view;
use crate::peer_databases::tables::arguments::{Op, Stop};

/// A program with its recorded results.
pub(super) struct Program<'a> {
    case: &'a Value,
    file: Recorded<'a>,
    code: Arc<Code>,
}

/// The recorded tensors of a program.
struct Recorded<'a> {
    tensors: &'a StateDict,
    number: usize,
    device: Device,
}

impl Recorded<'_> {
    /// A tensor, on the device of the program.
    fn get(&self, what: &str, i: usize) -> Option<Tensor> {
        let tensor = self.result(&format!("{what}/{i}"))?;
        Some(tensor.to_device(&self.device).unwrap())
    }

    /// A result, where the file has it.
    fn result(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(&format!("{}/{name}", self.number))
    }
}

/// How a program is run.
#[derive(Clone, Copy)]
enum Run {
    Plain,
    /// The steps are run again in the backward pass.
    Recomputed,
    /// The steps and their gradients are, in the pass that differentiates these gradients.
    RecomputedGradients,
}

fn described(stop: Stop) -> String {
    match stop {
        Stop::Refused(error) => format!("refused: {error}"),
        Stop::NotOurs(what) => format!("not ours: {what}"),
    }
}

impl<'a> Program<'a> {
    pub(super) fn new(
        case: &'a Value,
        number: usize,
        tensors: &'a StateDict,
        operations: &BTreeMap<&'static str, Op>,
        device: &Device,
    ) -> Self {
        let device = *device;
        let file = Recorded {
            tensors,
            number,
            device,
        };
        let code = Code::new(case, operations, |i| file.get("gout", i));
        Self {
            case,
            file,
            code: Arc::new(code),
        }
    }

    /// The program, one step per line.
    pub(super) fn described(&self) -> String {
        let leaves = self.case["leaves"].as_array().expect("leaves");
        let mut lines = vec![format!(
            "  number {} of {}, outputs {}, between {}, twice {}, hooks {}",
            self.case["number"],
            self.code.dtype,
            self.case["outputs"],
            self.case["between"],
            self.case["twice"],
            self.case["hooks"]
        )];
        for (i, leaf) in leaves.iter().enumerate() {
            let base = self.file.get("in", i).expect("a leaf");
            lines.push(format!("  {i}: {} {leaf}", base.shape()));
        }
        for step in &self.code.steps {
            let call = &step.call;
            lines.push(format!(
                "  {} of {:?}: {} {}",
                step.op.0, step.uses, call["args"], call["named"]
            ));
        }
        lines.join("\n")
    }

    /// The leaves, and their views from which the program starts.
    fn leaves(&self) -> (Vec<Tensor>, Vec<Tensor>) {
        let leaf = |(i, leaf): (usize, &Value)| {
            let base = self.file.get("in", i).expect("a leaf").detach();
            let base = match leaf["grad"] == true {
                true => base.with_grad().unwrap(),
                false => base,
            };
            let steps = leaf["views"].as_array().expect("views").iter();
            let viewed = steps.fold(base.clone(), |x, step| view(x, step).unwrap());
            (base, viewed)
        };
        let leaves = self.case["leaves"].as_array().expect("leaves");
        leaves.iter().enumerate().map(leaf).unzip()
    }

    /// Every result by its name in the file, in that order.
    fn results(&self, run: Run) -> Result<Vec<(String, Tensor)>, String> {
        let (leaves, values) = self.leaves();
        let leaves: Vec<Tensor> = leaves.into_iter().filter(Tensor::requires_grad).collect();
        let (outputs, first) = match run {
            Run::Plain => self
                .code
                .run(values)
                .and_then(|x| self.code.differentiate(x, &leaves)),
            Run::Recomputed => {
                let code = self.code.clone();
                let outputs = checkpoint(move |x| code.run(x).map_err(error), values);
                outputs
                    .map_err(Stop::from)
                    .and_then(|x| self.code.differentiate(x, &leaves))
            }
            Run::RecomputedGradients => self.recompute_gradients(values, &leaves),
        }
        .map_err(described)?;
        let mut found = named("out", outputs.into_iter().map(Some));
        found.extend(named("gin", first.iter().cloned()));
        if self.code.twice {
            let starts: Vec<Option<Tensor>> = (0..first.len())
                .map(|i| self.file.get("start", i))
                .collect();
            let second = gradients(&first, &starts, &leaves, false).map_err(|e| e.to_string())?;
            found.extend(named("twice", second.into_iter()));
        }
        Ok(found)
    }

    fn recompute_gradients(&self, values: Vec<Tensor>, leaves: &[Tensor]) -> Result<Results, Stop> {
        let (code, leaves) = (self.code.clone(), leaves.to_vec());
        let exist = Arc::new(Mutex::new(Vec::new()));
        let which = exist.clone();
        let all = move |values| {
            let results = code.run(values);
            let results = results.and_then(|values| code.differentiate(values, &leaves));
            let (outputs, gradients) = results.map_err(error)?;
            *which.lock().unwrap() = gradients.iter().map(Option::is_some).collect();
            Ok([outputs, gradients.into_iter().flatten().collect()].concat())
        };
        let mut outputs = checkpoint(all, values)?;
        let mut found = outputs.split_off(self.code.starts.len()).into_iter();
        let gradient = |&exists: &bool| exists.then(|| found.next()).flatten();
        let gradients = exist.lock().unwrap().iter().map(gradient).collect();
        Ok((outputs, gradients))
    }

    /// Compares the results with PyTorch's.
    pub(super) fn check(&self) -> Result<(), String> {
        self.compare_with_pytorch(&self.results(Run::Plain)?)
    }

    /// Compares the results with those of other ways to compute the same.
    pub(super) fn check_other_ways(&self) -> Result<(), String> {
        let results = self.results(Run::Plain)?;
        let again = self.results(Run::Plain)?;
        same_bits(&results, &again).map_err(|e| format!("once more: {e}"))?;
        let (_, values) = self.leaves();
        let mut untracked = no_grad(|| self.code.run(values)).map_err(described)?;
        untracked.truncate(self.code.starts.len());
        let untracked = named("out", untracked.into_iter().map(Some));
        same_bits(&untracked, &results[..untracked.len()])
            .map_err(|e| format!("without gradients: {e}"))?;
        let recomputed = self.results(Run::Recomputed)?;
        same_bits(&results, &recomputed).map_err(|e| format!("in a checkpoint: {e}"))?;
        if !self.code.twice {
            return Ok(());
        }
        let recomputed = self.results(Run::RecomputedGradients)?;
        same_bits(&results, &recomputed).map_err(|e| format!("gradients in a checkpoint: {e}"))
    }

    fn compare_with_pytorch(&self, results: &[(String, Tensor)]) -> Result<(), String> {
        let limits = self.case["limits"].as_object().expect("limits");
        let found: BTreeMap<&str, &Tensor> =
            results.iter().map(|(name, x)| (name.as_str(), x)).collect();
        for (name, limit) in limits {
            let expected = self.file.result(name).expect("a result");
            // A tensor that is not tracked has no gradient here, and zeros in PyTorch.
            let zeros = expected.zeros_like().unwrap();
            let actual = found.get(name.as_str()).copied().unwrap_or(&zeros);
            let limit = limit.as_f64().expect("a number");
            golden::within(actual, expected, limit).map_err(|e| format!("{name}: {e}"))?;
        }
        let extra = found.iter().find(|(name, x)| {
            !limits.contains_key(**name)
                && x.to_dtype(DType::F64)
                    .unwrap()
                    .to_vec::<f64>()
                    .unwrap()
                    .iter()
                    .any(|v| *v != 0.0)
        });
        extra.map_or(Ok(()), |(name, _)| {
            Err(format!("{name}: a gradient where PyTorch has none"))
        })
    }
}

fn error(stop: Stop) -> Error {
    Error::custom(described(stop))
}

fn named(what: &str, tensors: impl Iterator<Item = Option<Tensor>>) -> Vec<(String, Tensor)> {
    let named = |(i, x): (usize, Option<Tensor>)| Some((format!("{what}/{i}"), x?));
    tensors.enumerate().filter_map(named).collect()
}

fn same_bits(a: &[(String, Tensor)], b: &[(String, Tensor)]) -> Result<(), String> {
    let names = |list: &[(String, Tensor)]| {
        let names = list.iter().map(|(name, _)| name.clone());
        names.collect::<Vec<_>>()
    };
    if names(a) != names(b) {
        return Err(format!("{:?} instead of {:?}", names(b), names(a)));
    }
    (a.iter().zip(b)).try_for_each(|((name, a), (_, b))| {
        golden::same_bits(a, b).map_err(|difference| format!("{name}: {difference}"))
    })
}
