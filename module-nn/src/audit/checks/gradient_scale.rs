//! Gradients that vanish and values that explode: pitfall 40.

use std::collections::HashSet;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{Record, Step};

/// Weights whose gradient is far smaller than those of others, and the first module whose values are far larger than
/// what the model is given.
pub(in crate::audit) struct GradientScale;

impl Check for GradientScale {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        vanishing(record, findings);
        exploding(record, findings);
    }
}

/// The nodes of each step that a gradient comes to by some way around branches that start at nearly nothing: what is added
/// to other values after it was scaled by a parameter which is to open the branch as it is trained.
fn outside_of_branches(record: &Record<'_>) -> Vec<HashSet<u64>> {
    let of_step = |step: &Step| {
        let parameters = record.parameters.iter().zip(&step.start.parameters);
        let trained = parameters.filter(|(known, _)| step.trains(known.leaf));
        let small = trained.filter(|(_, state)| state.is_nearly_nothing());
        let small: HashSet<u64> = small.map(|(known, _)| known.leaf).collect();
        let source = |input: &u64| step.graph.source_of(*input);
        let added = step.graph.nodes().filter(|(_, info)| info.name == "add");
        let added: HashSet<u64> = added
            .flat_map(|(_, info)| info.inputs.iter().filter_map(source))
            .collect();
        let is_small = |input: &u64| source(input).is_some_and(|source| small.contains(&source));
        let roots = step.adding_passes().flat_map(|pass| &pass.roots).copied();
        step.graph.ancestors_by(roots, |node, info| {
            info.name != "mul" || !added.contains(&node) || !info.inputs.iter().any(is_small)
        })
    };
    record.steps.iter().map(of_step).collect()
}

/// The norm of the gradient as a part of that of the weight, the largest of all steps; `None` of what is no matrix,
/// of a weight that starts at nearly nothing or is in such a branch, and where there was no gradient.
fn relative_gradient(
    record: &Record<'_>,
    outside: &[HashSet<u64>],
    parameter: usize,
) -> Option<f64> {
    let leaf = record.parameters[parameter].leaf;
    let steps = record.steps.iter().zip(outside);
    let steps = steps.filter(|(_, outside)| outside.contains(&leaf));
    let ratios = steps.filter_map(|(step, _)| {
        let state = &step.start.parameters[parameter];
        let grad = step.grad_stats(leaf)?;
        let is_comparable = state.is_sized_matrix() && grad.is_finite();
        is_comparable.then(|| grad.norm() / state.stats().norm())
    });
    ratios.reduce(f64::max)
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
    // As the gradient comes from the loss, it is this small from the last one on.
    let begins = &record.parameters[*nearest].path;
    findings.push(
        Finding::warning(FindingKind::VanishingGradient, path)
            .message(format!(
                "its gradient is nearly nothing beside that of other weights; on the way from the loss, `{begins}` is \
                 the first that gets so little"
            ))
            .cause(
                "the gradient shrinks in each layer on its way from the loss: saturated sigmoids or tanhs, dead ReLUs, \
                 or weights that are too small",
            )
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
        if let Some((module, rms)) = first_beyond(step, given * bound) {
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

fn first_beyond(step: &Step, bound: f64) -> Option<(usize, f64)> {
    let is_inner = |index: usize| !step.calls.iter().any(|call| call.parent == Some(index));
    let calls = step.model_calls().filter(|(index, _, _)| is_inner(*index));
    let mut large = calls.filter_map(|(_, module, call)| {
        let rms = call
            .outputs
            .iter()
            .map(|output| output.stats().rms)
            .fold(0.0, f64::max);
        (rms > bound).then_some((module, rms))
    });
    large.next()
}
