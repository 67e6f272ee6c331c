//! Probabilities where logits are expected: pitfall 39.

use std::collections::BTreeSet;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{Record, Seen, Step};
use crate::audit::stats::values;

/// Operations that apply a softmax to probabilities, recognized by the graph or by rows that sum to one.
pub(in crate::audit) struct DoubleSoftmax;

impl Check for DoubleSoftmax {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let mut reported = BTreeSet::new();
        for step in &record.steps {
            let mut nodes: Vec<_> = step.graph.nodes().collect();
            nodes.sort_unstable_by_key(|(node, _)| *node);
            for (node, info) in nodes {
                // The input of `linear_cross_entropy` is not logits: it computes these itself.
                let is_softmax = ["softmax", "log_softmax", "cross_entropy"];
                if !is_softmax.contains(&info.name) || !step.reaches(node) {
                    continue;
                }
                let Some((source, seen)) = given(step, info.inputs.first().copied()) else {
                    continue;
                };
                let by_graph = source == "softmax";
                // Attention weights may pass through a softmax again; the input of a loss may not.
                let by_values = info.name != "softmax" && seen.is_some_and(rows_sum_to_one);
                if !by_graph && !by_values {
                    continue;
                }
                // The module that returned it, or the one that contains the second softmax.
                let of = |input: u64| {
                    let given = step.model_calls().filter(|(_, _, call)| {
                        call.outputs.iter().any(|output| output.node == Some(input))
                    });
                    given.last().map(|(_, module, _)| module)
                };
                let module = info.inputs.first().and_then(|&input| of(input));
                let within = || {
                    let call = step.call_of_node(node)?;
                    step.calls[call].module
                };
                let path = module
                    .or_else(within)
                    .map_or("", |module| &record.modules[module].path);
                if !reported.insert((path, info.name)) {
                    continue;
                }
                findings.push(
                    Finding::error(FindingKind::DoubleSoftmax, path)
                        .message(format!(
                            "`{}` gets the result of a softmax, and applies one itself",
                            info.name
                        ))
                        .cause(match by_graph {
                            true => format!("its input was computed by `{source}`"),
                            false => "the rows of its input lie between 0 and 1 and sum to one".to_owned(),
                        })
                        .cure(
                            "give it the logits: take the softmax out of the model, and apply it only where \
                             probabilities are shown",
                        ),
                );
            }
        }
    }
}

/// The operation that computed the input of a node, ignoring changes of shape, and the values if a call returned them.
fn given(step: &Step, input: Option<u64>) -> Option<(&'static str, Option<&Seen>)> {
    let input = input?;
    let mut outputs = step.calls.iter().flat_map(|call| &call.outputs);
    let seen = outputs.find(|output| output.node == Some(input));
    Some((step.graph.values_of(input)?.name, seen))
}

/// Whether the values lie between 0 and 1 and sum to one over the classes, of which there are at least two.
fn rows_sum_to_one(seen: &Seen) -> bool {
    let shape = seen.tensor.shape();
    let dim = usize::from(shape.len() > 1);
    let Some(&classes) = shape.get(dim).filter(|&&classes| classes > 1) else {
        return false;
    };
    let Some(values) = values(&seen.tensor).filter(|values| !values.is_empty()) else {
        return false;
    };
    let inner: usize = shape.iter().skip(dim + 1).product();
    let is_probability = |value: &f32| (0.0..=1.0).contains(value);
    values.iter().all(is_probability)
        && values.chunks(classes * inner).all(|row| {
            (0..inner).all(|i| {
                let sum: f32 = row.iter().skip(i).step_by(inner).sum();
                (sum - 1.0).abs() < 1e-3
            })
        })
}
