//! Units that start out equal: pitfall 50.

use crate::Tensor;
use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::{FindingKind, Severity};
use crate::audit::record::{Record, Step};
use crate::audit::rows::rows_equal;
use crate::audit::stats::{Stats, equal_rows};

/// Weights with equal rows at the start of training, if this does harm: the rows stay equal, or nothing before them gets a
/// gradient. Rows of zeros with another path around them, as in LoRA, do no harm.
pub(in crate::audit) struct SymmetricUnits;

impl Check for SymmetricUnits {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let (Some(first), Some(last)) = (record.steps.first(), record.steps.last()) else {
            return;
        };
        for (index, known) in record.parameters.iter().enumerate() {
            let start = &first.start.parameters[index].value;
            let shape = start.shape();
            if shape.len() < 2 || shape[0] < 2 || !first.trains(known.leaf) {
                continue;
            }
            let rows = shape[0];
            if !equal_rows(start) {
                continue;
            }
            let end = &last.end.parameters[index].value;
            let stays = record.steps.iter().any(|step| step.moved(index)) && equal_rows(end);
            // Rows of one element are scales, which may start out equal.
            let is_constant = start.numel() > rows && Stats::of(start).max_abs > 0.0;
            let blocks = is_constant_model(first) && blocks_gradient(record, first, index);
            let (severity, harm) = match (stays, blocks, is_constant) {
                (true, _, _) => (Severity::Error, "and stay equal as they are trained"),
                (_, true, _) => (
                    Severity::Warning,
                    "so that no gradient reaches what is before it",
                ),
                (_, _, true) => (
                    Severity::Warning,
                    "so that its units start as copies of one",
                ),
                _ => continue,
            };
            findings.push(
                Finding::new(FindingKind::SymmetricUnits, severity, &known.path)
                    .message(format!("all its {rows} rows are equal at the start, {harm}"))
                    .cause(
                        "it was given one value (`zeros`, `full`) in place of random weights: units that compute the \
                         same get the same gradient",
                    )
                    .cure(
                        "draw the weights, by `reset_parameters` or an initializer of `init`; allow the finding if a \
                         start at zero is meant",
                    )
                    .number("rows", rows as f64),
            );
        }
    }
}

/// Whether the model returns the same for all rows of a batch, because nothing bypasses a layer of zeros.
fn is_constant_model(step: &Step) -> bool {
    let outermost = step
        .calls
        .iter()
        .filter(|call| call.parent.is_none() && call.module.is_some());
    let mut outputs = outermost.flat_map(|call| &call.outputs);
    outputs.all(|output| {
        let rows = output.tensor.size(0).unwrap_or(1);
        rows < 2 || rows_equal(&output.tensor, rows) != Some(false)
    })
}

/// Whether the tracked input of the parameter's module gets a zero gradient compared with that of the output.
fn blocks_gradient(record: &Record<'_>, step: &Step, parameter: usize) -> bool {
    let calls = step.model_calls();
    let own =
        calls.filter(|(_, module, _)| record.modules[*module].parameters.contains(&parameter));
    let blocked = own.map(|(_, _, call)| {
        let largest = |grad: Option<Tensor>| grad.map(|grad| Stats::of(&grad).max_abs);
        let of_node = |node| step.grad_stats(node).map(|stats| stats.max_abs);
        let input = call.inputs.iter().find_map(|input| of_node(input.node?));
        let output = call.outputs.iter().find_map(|output| largest(output.grad()));
        matches!((input, output), (Some(input), Some(output)) if output > 0.0 && input <= 1e-6 * output)
    });
    let blocked: Vec<bool> = blocked.collect();
    !blocked.is_empty() && blocked.iter().all(|&blocked| blocked)
}
