//! Gradients that were not zeroed: pitfall 45.

use std::collections::BTreeSet;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;
use crate::audit::stats::is_zero;

/// Gradients from before the step that existed when a backward pass added to them, although the optimizer had already used
/// them, and that were used again.
pub(in crate::audit) struct StaleGradient;

impl Check for StaleGradient {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        if record.options.accumulates {
            return;
        }
        let mut stale: BTreeSet<usize> = BTreeSet::new();
        let mut first_step = None;
        for (number, step) in record.steps.iter().enumerate() {
            for pass in step.adding_passes() {
                for &index in &pass.stale {
                    let known = &record.parameters[index];
                    // For the first step, it is unknown what came before.
                    let mut before = record.steps[..number].iter();
                    let was_used = number == 0 || before.any(|step| step.moved(index));
                    let used = was_used && step.moved(index);
                    let grad = step.start.parameters[index].grad.as_ref();
                    let is_some = grad.is_some_and(|grad| !is_zero(grad));
                    if pass.reached.contains(&known.leaf) && used && is_some {
                        stale.insert(index);
                        first_step.get_or_insert(number);
                    }
                }
            }
        }
        let (Some(&first), Some(step)) = (stale.first(), first_step) else {
            return;
        };
        let path = &record.parameters[first].path;
        let count = stale.len();
        findings.push(
            Finding::error(FindingKind::StaleGradient, path)
                .message(format!(
                    "{count} parameter(s) had a gradient from before step {step} as its backward pass began, which \
                     added to it"
                ))
                .cause(match step {
                    0 => "a backward pass before the audit left it, and nothing dropped it",
                    _ => "`zero_grad` was not called after the previous step, so its gradient is added again",
                })
                .cure(
                    "call `model.zero_grad()` before `backward()`; declare `Audit::gradient_accumulation` where \
                     gradients are meant to be added up",
                )
                .number("parameters", count as f64)
                .number("step", step as f64),
        );
    }
}
