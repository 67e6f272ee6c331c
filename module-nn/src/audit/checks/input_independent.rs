//! Outputs that are the same whatever the input is.

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{CallRecord, Record, Seen};
use crate::audit::rows::{rows_differ, rows_equal};

/// Finds a model with the same output for all rows of its inputs, although these differ, in every step. Operations without
/// parameters are excluded: values held at a bound give zeros.
pub(in crate::audit) struct InputIndependentLoss;

impl Check for InputIndependentLoss {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let mut seen: Vec<(usize, usize, bool)> = Vec::new();
        for (number, step) in record.steps.iter().enumerate() {
            for (_, module, call) in step.model_calls() {
                let is_outermost = call.parent.is_none() && call.grad_enabled;
                let has_parameters = || !record.parameters_within(module).is_empty();
                let batch = record.options.batch_dim.unwrap_or(0);
                let same = (is_outermost && has_parameters()).then(|| is_same_for_all(call, batch));
                let Some(same) = same.flatten() else {
                    continue;
                };
                match seen.iter_mut().find(|(known, _, _)| *known == module) {
                    Some((_, last, all)) => (*last, *all) = (number, *all && same),
                    None => seen.push((module, number, same)),
                }
            }
        }
        let last = record.steps.len().saturating_sub(1);
        for (module, _, _) in seen
            .into_iter()
            .filter(|&(_, seen, same)| same && seen == last)
        {
            let path = &record.modules[module].path;
            let finding = Finding::error(FindingKind::InputIndependentLoss, path)
                .message("it gives the same output for every row of its input, in each step")
                .cause("the input is not used, is multiplied by zero, or every unit of a layer between is silent")
                .cure("follow the input through `forward`; check the scale by which it is normalized");
            findings.push(finding);
        }
    }
}

/// Whether all rows of the output are equal; `None` if that reveals nothing, because there is only one row or all rows of
/// the input are equal too.
fn is_same_for_all(call: &CallRecord, batch: usize) -> Option<bool> {
    let first = call.inputs.first()?;
    let count = first.tensor.shape().get(batch).copied();
    let count = count.filter(|&count| count > 1)?;
    let rows_of = |seen: &Seen| match batch {
        0 => Some(seen.tensor.clone()),
        _ => seen.tensor.transpose(0, batch as isize).ok(),
    };
    let differ = |seen: &Seen| rows_of(seen).is_some_and(|rows| rows_differ(&rows, count));
    if !call.inputs.iter().any(differ) {
        return None;
    }
    let outputs = call
        .outputs
        .iter()
        .filter(|output| output.tensor.dtype().is_floating_point());
    let same: Vec<bool> = outputs
        .filter_map(|output| rows_equal(&rows_of(output)?, count))
        .collect();
    (!same.is_empty()).then(|| same.into_iter().all(|same| same))
}
