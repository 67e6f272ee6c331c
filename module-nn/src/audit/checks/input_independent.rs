//! Outputs that are the same whatever the input is.

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{CallRecord, Record};
use crate::audit::rows::{rows_differ, rows_equal};

/// Finds a model that gives the same output for all rows of its inputs, though these differ, in every step.
pub(in crate::audit) struct InputIndependentLoss;

impl Check for InputIndependentLoss {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let mut said: Vec<(usize, usize, bool)> = Vec::new();
        for (number, step) in record.steps.iter().enumerate() {
            for (_, module, call) in step.model_calls() {
                let is_outermost = call.parent.is_none() && call.grad_enabled;
                let Some(same) = is_outermost.then(|| is_same_for_all(call)).flatten() else {
                    continue;
                };
                match said.iter_mut().find(|(known, _, _)| *known == module) {
                    Some((_, last, all)) => (*last, *all) = (number, *all && same),
                    None => said.push((module, number, same)),
                }
            }
        }
        let last = record.steps.len().saturating_sub(1);
        for (module, _, _) in said
            .into_iter()
            .filter(|&(_, seen, same)| same && seen == last)
        {
            let path = &record.modules[module].path;
            let finding = Finding::error(FindingKind::InputIndependentLoss, path)
                .message("it gives the same output for every row of its input, in each step")
                .cause("the input is not used, is multiplied by zero, or every unit of a layer between is silent")
                .cure("follow the input through `forward`; look at the scale by which it is normalized");
            findings.push(finding);
        }
    }
}

/// Whether all rows of the output are equal; `None` if that says nothing, because there is one row only or because all
/// rows of the input are equal too.
fn is_same_for_all(call: &CallRecord) -> Option<bool> {
    let first = call.inputs.first()?;
    let count = first.tensor.size(0).ok().filter(|&count| count > 1)?;
    // Sequences may have the time first, where outputs at all times may well differ in the batch only.
    if !call
        .inputs
        .iter()
        .any(|input| rows_differ(&input.tensor, count))
    {
        return None;
    }
    let outputs = call
        .outputs
        .iter()
        .filter(|output| output.tensor.dtype().is_floating_point());
    let same: Vec<bool> = outputs
        .filter_map(|output| rows_equal(&output.tensor, count))
        .collect();
    (!same.is_empty()).then(|| same.into_iter().all(|same| same))
}
