//! One recorded program, run in several ways.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use module_core::activation_checkpoint::checkpoint;
use module_core::autograd::grad_with;
use module_core::{BackwardOptions, DType, Device, Error, StateDict, Tensor, no_grad};
use module_tests::golden;
use serde_json::Value;

use crate::peer_databases::case::view;
use crate::peer_databases::tables::arguments::{Call, Op, Outputs, Stop};

/// The operations of the tables, and those that only programs have.
pub(super) fn operations() -> BTreeMap<&'static str, Op> {
    let mut operations = crate::peer_databases::operations();
    operations.extend(OPS.iter().map(|&op| (op.0, op)));
    operations
}

const OPS: &[Op] = &[
    ("detach", |c| Ok(vec![c.x()?.detach()])),
    ("where_positive", |c| {
        c.pair(|x, y| x.gt(0.25)?.where_(x, y))
    }),
    ("sorted_values", |c| {
        let dim: isize = c.need(1, "dim")?;
        c.map(|x| Ok(x.sort(dim)?.0))
    }),
    ("index_select_list", |c| {
        let (dim, index): (isize, Vec<i64>) = (c.need(1, "dim")?, c.need(2, "index")?);
        let count = index.len();
        c.map(|x| {
            let index = Tensor::from_vec(index, count)?;
            x.index_select(dim, &index.to_device(&x.device())?)
        })
    }),
    ("gather_reversed", |c| {
        let dim: isize = c.need(1, "dim")?;
        c.map(|x| {
            let mut shape = vec![1; x.rank()];
            shape[dim as usize] = x.size(dim)?;
            let index: Vec<i64> = (0..x.size(dim)? as i64).rev().collect();
            let index = Tensor::from_vec(index, shape)?.to_device(&x.device())?;
            x.gather(dim, &index.expand(x.shape())?)
        })
    }),
    ("there_and_back", |c| {
        c.map(|x| x.to_dtype(DType::F64)?.sin()?.to_dtype(x.dtype()))
    }),
];

/// A program with its recorded results.
pub(super) struct Program<'a> {
    case: &'a Value,
    prefix: String,
    tensors: &'a StateDict,
    code: Arc<Code>,
    device: Device,
}

/// What to do: the steps, in which values are known by their numbers.
struct Code {
    steps: Vec<Step>,
    dtype: String,
    /// The values that are asked for after the last step: the outputs, and then those whose gradients are, too.
    wanted: Vec<usize>,
    /// The gradients with which the backward pass starts, one for each output.
    starts: Vec<Option<Tensor>>,
    /// Whether gradients are differentiated.
    twice: bool,
    /// By what hooks multiply the gradients of values.
    hooks: Vec<(usize, f64)>,
}

struct Step {
    op: Op,
    uses: Vec<usize>,
    call: Value,
}

/// The outputs of a run, and their gradients with regard to the leaves and to values between.
type Results = (Vec<Tensor>, Vec<Option<Tensor>>);

/// How a program is run.
#[derive(Clone, Copy)]
enum Run {
    Plain,
    /// The steps are run again in the backward pass.
    Recomputed,
    /// The steps and their gradients are, in the pass that differentiates these gradients.
    RecomputedGradients,
}

impl Code {
    /// Runs the steps on the values of the leaves; each value is dropped after its last use.
    fn run(&self, leaves: Vec<Tensor>) -> Outputs {
        let mut last: BTreeMap<usize, usize> = BTreeMap::new();
        for (i, step) in self.steps.iter().enumerate() {
            last.extend(step.uses.iter().map(|&number| (number, i)));
        }
        last.extend(self.wanted.iter().map(|&number| (number, usize::MAX)));
        self.hook(&leaves, 0)?;
        let mut values: Vec<Option<Tensor>> = leaves.into_iter().map(Some).collect();
        for (i, step) in self.steps.iter().enumerate() {
            let used = step.uses.iter().map(|&n| values[n].clone().unwrap());
            let mut tensors: Vec<Tensor> = used.collect();
            for (number, _) in last.iter().filter(|(_, last)| **last == i) {
                values[*number] = None;
            }
            let call = Call {
                tensors: &tensors,
                positional: step.call["args"].as_array().unwrap(),
                named: step.call["named"].as_object().unwrap(),
                dtype: &self.dtype,
                read: RefCell::default(),
            };
            let outputs = step.op.1(&call)?;
            if let Some(name) = call.unread() {
                return Err(Stop::NotOurs(format!("argument {name}")));
            }
            self.hook(&outputs, values.len())?;
            tensors.clear();
            values.extend(outputs.into_iter().map(Some));
        }
        let wanted = self.wanted.iter().map(|&n| values[n].clone().unwrap());
        Ok(wanted.collect())
    }

    /// The outputs of the values that are asked for, and their gradients.
    fn differentiate(&self, mut values: Vec<Tensor>, leaves: &[Tensor]) -> Result<Results, Stop> {
        let between = values.split_off(self.starts.len());
        let at: Vec<Tensor> = leaves.iter().cloned().chain(between).collect();
        let of: Vec<Option<Tensor>> = values.iter().cloned().map(Some).collect();
        let gradients = gradients(&of, &self.starts, &at, self.twice)?;
        Ok((values, gradients))
    }

    /// Registers the hooks of values, of which the first has the number `start`.
    fn hook(&self, values: &[Tensor], start: usize) -> Result<(), Stop> {
        for (value, number) in values.iter().zip(start..) {
            let hooks = self.hooks.iter().filter(|(hooked, _)| *hooked == number);
            for &(_, factor) in hooks.filter(|_| value.requires_grad()) {
                // It stays as long as the value.
                std::mem::forget(value.register_hook(move |grad| grad.mul(factor).map(Some))?);
            }
        }
        Ok(())
    }
}

fn numbers(value: &Value) -> Vec<usize> {
    serde_json::from_value(value.clone()).expect("numbers")
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
        let step = |step: &Value| {
            let op = step["op"].as_str().expect("a name");
            Step {
                op: *(operations.get(op)).unwrap_or_else(|| panic!("no line for `{op}`")),
                uses: numbers(&step["uses"]),
                call: step.clone(),
            }
        };
        let steps = case["steps"].as_array().expect("steps").iter().map(step);
        let outputs = numbers(&case["outputs"]);
        let get = |what: &str, i: usize| {
            let tensor = tensors.get(&format!("{number}/{what}/{i}"))?;
            Some(tensor.to_device(device).unwrap())
        };
        let code = Code {
            steps: steps.collect(),
            dtype: case["dtype"].as_str().expect("a dtype").to_owned(),
            starts: (0..outputs.len()).map(|i| get("gout", i)).collect(),
            wanted: [outputs, numbers(&case["between"])].concat(),
            twice: case["twice"] == true,
            hooks: serde_json::from_value(case["hooks"].clone()).expect("hooks"),
        };
        Self {
            case,
            prefix: number.to_string(),
            tensors,
            code: Arc::new(code),
            device: *device,
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
            let base = self.get("in", i).expect("a leaf");
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

    /// A tensor of the program, on its device.
    fn get(&self, what: &str, i: usize) -> Option<Tensor> {
        let tensor = self.tensors.get(&format!("{}/{what}/{i}", self.prefix))?;
        Some(tensor.to_device(&self.device).unwrap())
    }

    /// The leaves, and their views from which the program starts.
    fn leaves(&self) -> (Vec<Tensor>, Vec<Tensor>) {
        let leaf = |(i, leaf): (usize, &Value)| {
            let base = self.get("in", i).expect("a leaf").detach();
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
            let starts: Vec<Option<Tensor>> =
                (0..first.len()).map(|i| self.get("start", i)).collect();
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
            let key = format!("{}/{name}", self.prefix);
            let expected = self.tensors.get(&key).expect("a result");
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

/// The gradients of those that are tracked, which start with those of the same index.
fn gradients(
    of: &[Option<Tensor>],
    starts: &[Option<Tensor>],
    at: &[Tensor],
    create_graph: bool,
) -> Result<Vec<Option<Tensor>>, Error> {
    let pairs = of.iter().zip(starts).filter_map(|(x, start)| {
        let x = x.as_ref().filter(|x| x.requires_grad())?;
        Some((x, start.as_ref()?))
    });
    let (of, with): (Vec<&Tensor>, Vec<&Tensor>) = pairs.unzip();
    if of.is_empty() {
        return Ok(vec![None; at.len()]);
    }
    let at: Vec<&Tensor> = at.iter().collect();
    let options = BackwardOptions::new().create_graph(create_graph);
    grad_with(&of, &with, &at, options)
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
