//! Gradients that vanish and values that explode: pitfall 40.

use std::collections::{HashMap, HashSet};

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::graph::NodeInfo;
use crate::audit::kind::FindingKind;
use crate::audit::record::{CallRecord, Record, Step};

/// Weights whose gradient is far smaller than those of others, and the first module whose values are far larger than the
/// input of the model.
pub(in crate::audit) struct GradientScale;

impl Check for GradientScale {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        vanishing(record, findings);
        exploding(record, findings);
    }
}

/// Operations whose result has the size of their weights, plus a bias if they have one.
const OF_WEIGHTS: [&str; 7] = [
    "linear",
    "matmul",
    "convolution",
    "batch_norm",
    "layer_norm",
    "group_norm",
    "rms_norm",
];

/// Operations whose result is near zero if one of their inputs is, in addition to those that keep values.
const OF_INPUTS: [&str; 5] = ["mul", "neg", "tanh", "slice", "expand"];

/// The nodes of a step whose values are near zero because trained parameters start that way.
fn nearly_nothing(record: &Record<'_>, step: &Step) -> HashSet<u64> {
    // An untrained parameter has no node.
    let parameters = record.parameters.iter().zip(&step.start.parameters);
    let trained: HashMap<u64, bool> = parameters
        .map(|(known, state)| (known.leaf, state.is_nearly_nothing()))
        .collect();
    let mut nodes: Vec<_> = step.graph.nodes().collect();
    // A node is younger than its inputs.
    nodes.sort_unstable_by_key(|(node, _)| *node);
    let mut small = HashSet::new();
    for (node, info) in nodes {
        let sources = info
            .inputs
            .iter()
            .filter_map(|&it| step.graph.source_of(it));
        let weights: Vec<bool> = sources.filter_map(|it| trained.get(&it).copied()).collect();
        let by_weights = !weights.is_empty() && weights.iter().all(|&is_small| is_small);
        let by_inputs = info.inputs.iter().any(|input| small.contains(input));
        let is_small = match info.name {
            "leaf" => trained.get(&node) == Some(&true),
            name if OF_WEIGHTS.contains(&name) => by_weights,
            name => by_inputs && (OF_INPUTS.contains(&name) || step.graph.keeps_values(node)),
        };
        if is_small {
            small.insert(node);
        }
    }
    small
}

/// The nodes of each step that a gradient reaches around branches that start closed: values near zero that are added to
/// others, until a trained scale, adapter or normalization opens the branch.
fn outside_of_branches(record: &Record<'_>) -> Vec<HashSet<u64>> {
    let of_step = |step: &Step| {
        let small = nearly_nothing(record, step);
        let is_leaf = |node: u64| step.graph.get(node).is_some_and(|info| info.name == "leaf");
        let mut closed = HashSet::new();
        for (_, info) in step.graph.nodes().filter(|(_, info)| info.name == "add") {
            for &input in info.inputs.iter().filter(|input| small.contains(input)) {
                // A bias is not a bypass.
                let mut others = info.inputs.iter().filter(|&&other| other != input);
                if !others.any(|&other| is_leaf(other)) {
                    closed.insert(input);
                }
            }
        }
        let roots = step.adding_passes().flat_map(|pass| &pass.roots).copied();
        let follow = |node, _: &NodeInfo| !closed.contains(&node);
        step.graph.ancestors_by(roots, follow)
    };
    record.steps.iter().map(of_step).collect()
}

/// The norm of the gradient relative to that of the weight, the largest of all steps; `None` for a parameter that is not a
/// matrix, for a weight that starts near zero, is in such a branch or got no input, and if there was no gradient.
fn relative_gradient(
    record: &Record<'_>,
    outside: &[HashSet<u64>],
    parameter: usize,
) -> Option<f64> {
    let leaf = record.parameters[parameter].leaf;
    let steps = record.steps.iter().zip(outside);
    let steps = steps.filter(|(step, outside)| {
        outside.contains(&leaf) && !is_given_nothing(record, step, parameter)
    });
    let ratios = steps.filter_map(|(step, _)| {
        let state = &step.start.parameters[parameter];
        let grad = step.grad_stats(leaf)?;
        let is_comparable = state.is_sized_matrix() && grad.is_finite();
        is_comparable.then(|| grad.norm() / state.stats().norm())
    });
    ratios.reduce(f64::max)
}

/// Whether the modules of a parameter were called only with zero rows, like an expert that nothing is routed to.
fn is_given_nothing(record: &Record<'_>, step: &Step, parameter: usize) -> bool {
    let calls = step.model_calls();
    let own =
        calls.filter(|(_, module, _)| record.modules[*module].parameters.contains(&parameter));
    let mut given = own.flat_map(|(_, _, call)| &call.outputs).peekable();
    given.peek().is_some() && given.all(|output| output.tensor.numel() == 0)
}

fn vanishing(record: &Record<'_>, findings: &mut Vec<Finding>) {
    let outside = outside_of_branches(record);
    let indices = 0..record.parameters.len();
    let ratios = indices.map(|index| relative_gradient(record, &outside, index));
    let ratios: Vec<Option<f64>> = ratios.collect();
    let largest = ratios.iter().flatten().copied().fold(0.0, f64::max);
    let bound = record.options.thresholds.vanishing;
    let small = |ratio: &Option<f64>| ratio.is_some_and(|ratio| ratio < bound * largest);
    let small: Vec<usize> = (0..ratios.len())
        .filter(|&index| small(&ratios[index]))
        .collect();
    let ratio = |index: &usize| ratios[*index].unwrap_or(0.0);
    let worst = small
        .iter()
        .copied()
        .min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let Some((worst, nearest)) = worst.zip(small.last()) else {
        return;
    };
    let path = &record.parameters[worst].path;
    // The gradient comes from the loss, so it is this small from the last one on.
    let begins = &record.parameters[*nearest].path;
    findings.push(
        Finding::warning(FindingKind::VanishingGradient, path)
            .message(format!(
                "its gradient is nearly nothing beside that of other weights; on the way from the loss, `{begins}` is \
                 the first that gets so little"
            ))
            .cause(match ratio(&worst) {
                0.0 => "no gradient gets through: sigmoids or tanhs that are saturated, dead ReLUs, or a mask or gate \
                        that is closed for every sample",
                _ => "the gradient shrinks in each layer on its way from the loss: saturated sigmoids or tanhs, or \
                      weights that are too small",
            })
            .cure("use ReLU or GELU, normalization or residual connections, and an initializer that fits (`init`)")
            .number("relative_gradient", ratio(&worst))
            .number("largest_relative_gradient", largest)
            .number("weights", small.len() as f64),
    );
}

fn exploding(record: &Record<'_>, findings: &mut Vec<Finding>) {
    let bound = record.options.thresholds.exploding;
    for step in &record.steps {
        let outermost = step
            .model_calls()
            .find(|(_, _, call)| call.parent.is_none());
        let Some((_, _, outermost)) = outermost else {
            continue;
        };
        let inputs = outermost.inputs.iter().map(|input| input.stats().rms);
        let given = inputs.fold(0.0, f64::max).max(1.0);
        if let Some((module, rms)) = first_beyond(record, step, given * bound) {
            let path = &record.modules[module].path;
            let name = record.name_module(module);
            findings.push(
                Finding::warning(FindingKind::ExplodingGradient, path)
                    .message(format!("{name} is the first module whose values are far larger than the input"))
                    .cause("values grow in each layer: weights that are too large, or sums without a normalization")
                    .cure("normalize between layers, initialize smaller (`init`), or lower the learning rate")
                    .number("rms", rms)
                    .number("input_rms", given),
            );
            return;
        }
    }
}

/// The first innermost module with values beyond a bound. A module that computes nothing from trained values, such as a
/// mask of large negative numbers, makes nothing grow.
fn first_beyond(record: &Record<'_>, step: &Step, bound: f64) -> Option<(usize, f64)> {
    let is_inner = |index: usize| !step.calls.iter().any(|call| call.parent == Some(index));
    let grows = |module: usize, call: &CallRecord| {
        let mut outputs = call.outputs.iter();
        outputs.any(|output| output.node.is_some()) || !record.modules[module].parameters.is_empty()
    };
    let calls = step.model_calls().filter(|(index, _, _)| is_inner(*index));
    let mut large = calls
        .filter(|(_, module, call)| grows(*module, call))
        .filter_map(|(_, module, call)| {
            let rms = call.outputs.iter().map(|output| output.stats().rms);
            let rms = rms.fold(0.0, f64::max);
            (rms > bound).then_some((module, rms))
        });
    large.next()
}
