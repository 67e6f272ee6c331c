//! The steps of a program.

use std::cell::RefCell;
use std::collections::BTreeMap;

use module_core::autograd::grad_with;
use module_core::{BackwardOptions, DType, Error, Tensor};
use serde_json::Value;

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

/// What to do: the steps, in which values are known by their numbers.
pub(super) struct Code {
    pub(super) steps: Vec<Step>,
    pub(super) dtype: String,
    /// The values that are asked for after the last step: the outputs, and then those whose gradients are, too.
    wanted: Vec<usize>,
    /// The gradients with which the backward pass starts, one for each output.
    pub(super) starts: Vec<Option<Tensor>>,
    /// Whether gradients are differentiated.
    pub(super) twice: bool,
    /// By what hooks multiply the gradients of values.
    hooks: Vec<(usize, f64)>,
}

pub(super) struct Step {
    pub(super) op: Op,
    pub(super) uses: Vec<usize>,
    pub(super) call: Value,
}

/// The outputs of a run, and their gradients with regard to the leaves and to values between.
pub(super) type Results = (Vec<Tensor>, Vec<Option<Tensor>>);

impl Code {
    /// The code of a case; `start` gives the gradient with which the backward pass of an output starts.
    pub(super) fn new(
        case: &Value,
        operations: &BTreeMap<&'static str, Op>,
        start: impl Fn(usize) -> Option<Tensor>,
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
        Self {
            steps: steps.collect(),
            dtype: case["dtype"].as_str().expect("a dtype").to_owned(),
            starts: (0..outputs.len()).map(start).collect(),
            wanted: [outputs, numbers(&case["between"])].concat(),
            twice: case["twice"] == true,
            hooks: serde_json::from_value(case["hooks"].clone()).expect("hooks"),
        }
    }

    /// Runs the steps on the values of the leaves; each value is dropped after its last use.
    pub(super) fn run(&self, leaves: Vec<Tensor>) -> Outputs {
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
    pub(super) fn differentiate(
        &self,
        mut values: Vec<Tensor>,
        leaves: &[Tensor],
    ) -> Result<Results, Stop> {
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

/// The gradients of those that are tracked, which start with those of the same index.
pub(super) fn gradients(
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
