//! Units that are inactive for every sample: pitfall 41.

use std::collections::BTreeMap;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::{FindingKind, Severity};
use crate::audit::record::{Record, Seen, Step};
use crate::audit::stats::values;

/// ReLU outputs that are zero for every sample of all watched steps: of ReLU modules, and of the operation if a module gets
/// its result.
pub(in crate::audit) struct DeadUnits;

impl Check for DeadUnits {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        // A module may be called several times in a step, as a different layer each time.
        let mut layers: BTreeMap<(usize, usize), Layer> = BTreeMap::new();
        for step in &record.steps {
            let mut times = vec![0; record.modules.len()];
            for (_, module, call) in step.model_calls() {
                let seen = match is_relu(record, module) {
                    true => call.outputs.first(),
                    false => call
                        .inputs
                        .first()
                        .filter(|input| is_rectified(record, step, input)),
                };
                times[module] += 1;
                // If the operation is called inside a container, the container's first child gets its result.
                let is_container = record
                    .modules
                    .iter()
                    .any(|other| other.parent == Some(module));
                let reached = |seen: &&Seen| seen.node.is_some_and(|node| step.reaches(node));
                if let Some(seen) = seen.filter(reached).filter(|_| !is_container) {
                    layers.entry((module, times[module])).or_default().add(seen);
                }
            }
        }
        let bounds = &record.options.thresholds;
        for ((module, _), layer) in layers {
            let units = layer.alive.len();
            let dead = layer.alive.iter().filter(|alive| !**alive).count();
            let fraction = dead as f64 / units.max(1) as f64;
            let is_all = dead == units;
            if layer.samples < bounds.dead_unit_samples
                || units < 2
                || dead == 0
                || fraction < bounds.dead_units
            {
                continue;
            }
            let name = record.name_module(module);
            let of = match is_relu(record, module) {
                true => format!("that {name} gives"),
                false => format!("that a ReLU before {name} gives"),
            };
            let severity = if is_all {
                Severity::Error
            } else {
                Severity::Warning
            };
            findings.push(
                Finding::new(FindingKind::DeadUnits, severity, &record.modules[module].path)
                    .message(format!(
                        "{dead} of the {units} units {of} are 0 for all {} values of the watched steps",
                        layer.samples
                    ))
                    .cause(
                        "what goes into the ReLU is negative for every sample, and no gradient comes back through \
                         it: a bias or a learning rate that is too large, or inputs that are not normalized",
                    )
                    .cure("lower the learning rate, check the initial biases, normalize, or use LeakyReLU or GELU")
                    .number("dead", dead as f64)
                    .number("units", units as f64)
                    .number("samples", layer.samples as f64),
            );
        }
    }
}

/// The units of a layer.
#[derive(Default)]
struct Layer {
    alive: Vec<bool>,
    /// The values of each.
    samples: usize,
}

impl Layer {
    fn add(&mut self, seen: &Seen) {
        let shape = seen.tensor.shape();
        // Images and sequences have their channels after the batch, everything else last.
        let dim = match shape.len() {
            0 => return,
            4 | 5 => 1,
            rank => rank - 1,
        };
        let (units, inner) = (shape[dim], shape.iter().skip(dim + 1).product::<usize>());
        let Some(values) = values(&seen.tensor) else {
            return;
        };
        if units == 0 || inner == 0 {
            return;
        }
        self.alive.resize(units, false);
        for (index, run) in values.chunks(inner).enumerate() {
            let alive = &mut self.alive[index % units];
            *alive = *alive || run.iter().any(|&value| value != 0.0);
        }
        self.samples += values.len() / units;
    }
}

fn is_relu(record: &Record<'_>, module: usize) -> bool {
    ["ReLU", "ReLU6"].contains(&record.modules[module].kind)
}

/// Whether a tensor is the output of the operation, but not of a ReLU module.
fn is_rectified(record: &Record<'_>, step: &Step, input: &Seen) -> bool {
    let info = input.node.and_then(|node| step.graph.get(node));
    let by_module = || {
        let mut calls = step
            .model_calls()
            .filter(|(_, module, _)| is_relu(record, *module));
        calls.any(|(_, _, call)| call.outputs.iter().any(|output| output.node == input.node))
    };
    info.is_some_and(|info| info.name == "relu") && !by_module()
}
