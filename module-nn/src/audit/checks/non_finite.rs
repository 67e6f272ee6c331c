//! NaN and infinities: pitfalls 40 and 59.

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{CallRecord, Record, Seen, Step};
use crate::audit::stats::Stats;

/// The first module with non-finite values, in a step whose loss or gradients are not finite.
pub(in crate::audit) struct NonFiniteValue;

impl Check for NonFiniteValue {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        for (number, step) in record.steps.iter().enumerate() {
            let Some(symptom) = symptom(record, step) else {
                continue;
            };
            let finding = |path: &str| {
                Finding::error(FindingKind::NonFiniteValue, path).number("step", number as f64)
            };
            let is_bad = |seen: &Seen| !seen.stats().is_finite();
            // Masks of minus infinity are inputs, not results.
            let makes = |call: &CallRecord| {
                call.outputs.iter().any(is_bad) && !call.inputs.iter().any(is_bad)
            };
            let backward = || {
                let mut calls: Vec<_> = step.model_calls().collect();
                calls.reverse();
                let bad =
                    |grad: Option<crate::Tensor>| grad.map(|grad| !Stats::of(&grad).is_finite());
                let found = calls.into_iter().find(|(_, _, call)| {
                    call.outputs
                        .iter()
                        .any(|output| bad(output.grad()) == Some(true))
                });
                found.map(|(_, module, _)| module)
            };
            let made = step.model_calls().filter(|(_, _, call)| makes(call));
            // Of a module and its submodules, report the inner one, which finishes first.
            let first = made.min_by_key(|(_, _, call)| call.nodes.1);
            let mut outermost = step
                .model_calls()
                .filter(|(_, _, call)| call.parent.is_none());
            // Infinities may come from a mask.
            let is_nan = |seen: &Seen| seen.stats().nan > 0;
            let given = outermost.find(|(_, _, call)| call.inputs.iter().any(is_nan));
            let parameter = record
                .parameters
                .iter()
                .enumerate()
                .find(|(index, _)| !step.start.parameters[*index].stats().is_finite());
            let finding = match (parameter, first, given) {
                (Some((_, known)), _, _) => finding(&known.path)
                    .message(format!("it held a NaN or an infinity before step {number}, and {symptom}"))
                    .cause(match number {
                        0 => "it was initialized or loaded so".to_owned(),
                        _ => "the step before moved it by a gradient that was not finite, or too far".to_owned(),
                    })
                    .cure(
                        "start from values that are finite; clip gradients with `error_if_nonfinite`, and lower the \
                         learning rate",
                    ),
                (None, Some((_, module, call)), _) => {
                    let name = record.name_module(module);
                    let largest = call.inputs.iter().map(|input| input.stats().max_abs).fold(0.0, f64::max);
                    finding(&record.modules[module].path)
                        .message(format!("{name} is the first module that gives NaN or infinities; {symptom}"))
                        .cause(format!(
                            "its input is finite, with values up to {largest:.3e}: a logarithm or root of what is not \
                             positive, a division by zero, or values too large for the dtype"
                        ))
                        .cure(
                            "keep the argument inside the range of the operation (`clamp`, an `eps`), or compute this \
                             part in `F32`",
                        )
                        .number("largest_input", largest)
                }
                (None, None, Some((_, module, _))) => {
                    let name = record.name_module(module);
                    finding(&record.modules[module].path)
                        .message(format!("{name} is given NaN; {symptom}"))
                        .cause("it is in the data, or comes of how that is prepared: a missing value, a division by zero")
                        .cure("check the data, and the deviation by which it is normalized")
                }
                (None, None, None) => {
                    let module = backward();
                    let path = module.map_or("", |module| &record.modules[module].path);
                    let at = module.map_or("the loss".to_owned(), |it| record.name_module(it));
                    finding(path)
                        .message(format!("all modules give finite values, and {symptom}, first after {at}"))
                        .cause(
                            "the gradient of an operation between modules or in the loss is not finite: a root or a \
                             norm at zero, a logarithm, a division",
                        )
                        .cure("find the operation by `autograd::detect_anomaly`, and add an `eps` to its argument")
                }
            };
            findings.push(finding);
            return;
        }
    }
}

/// Parameters that are not finite after a step.
fn symptom(record: &Record<'_>, step: &Step) -> Option<&'static str> {
    if step.losses.iter().any(|loss| !Stats::of(loss).is_finite()) {
        return Some("the loss is not finite");
    }
    let bad = |parameter: usize| {
        let grad = step.grad_stats(record.parameters[parameter].leaf);
        grad.is_some_and(|grad| !grad.is_finite())
    };
    // A non-finite gradient without a step was noticed: gradient scaling skips the step.
    if (0..record.parameters.len()).any(|index| bad(index) && step.moved(index)) {
        return Some("a gradient is not finite");
    }
    None
}
