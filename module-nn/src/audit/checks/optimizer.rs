//! Parameters that have a gradient but do not move: pitfalls 30 and 42.

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;

/// Parameters that no step moves although they have gradients: some, while others move, or all.
pub(in crate::audit) struct OptimizerMissesParameter;

impl Check for OptimizerMissesParameter {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let (mut still, mut moved) = (Vec::new(), 0);
        for (index, known) in record.parameters.iter().enumerate() {
            let is_moved = record.steps.iter().any(|step| step.moved(index));
            moved += usize::from(is_moved && is_noticeable(record, index));
            let has_gradient = record.steps.iter().any(|step| {
                let is_trained =
                    step.end.parameters[index].requires_grad && step.trains(known.leaf);
                // The pass of its own turn may give it no gradient, like that of a critic for the bias of its scores.
                let is_trained = is_trained && !step.zeros.contains(&known.leaf);
                let grad = step.grad_stats(known.leaf).filter(|_| is_trained);
                grad.is_some_and(|stats| stats.is_finite())
            });
            if has_gradient {
                still.push((index, is_moved));
            }
        }
        if moved > 0 {
            still.retain(|(_, is_moved)| !is_moved);
            let rate = if still.is_empty() {
                None
            } else {
                smallest_rate(record)
            };
            still.retain(|&(index, _)| !is_rounded_away(record, index, rate));
        }
        let rates = &record.options.learning_rates;
        if still.is_empty() || (moved == 0 && record.options.accumulates) {
            return;
        }
        if moved == 0 {
            let is_zero = !rates.is_empty() && rates.iter().all(|&rate| rate == 0.0);
            let steps = record.steps.len();
            let finding = Finding::error(FindingKind::NothingMoved, "")
                .message(format!("no parameter was moved in {steps} step(s), though {} have a gradient", still.len()))
                .cause(match is_zero {
                    true => "the learning rate is 0",
                    false => "the learning rate is 0 or so small that steps are rounded away, or no optimizer makes a step",
                })
                .cure(
                    "set the learning rate, call `optimizer.step(&model)?` after `backward()`; declare \
                     `Audit::gradient_accumulation` where steps come later",
                );
            let rate = rates.iter().copied().reduce(f64::max);
            findings.push(match rate {
                Some(rate) => finding.number("learning_rate", rate),
                None => finding,
            });
            return;
        }
        for (index, _) in still {
            let known = &record.parameters[index];
            let value = &record.steps[0].start.parameters[index].value;
            let half = value.dtype().size_in_bytes() < 4;
            findings.push(
                Finding::error(FindingKind::OptimizerMissesParameter, &known.path)
                    .message("it has a gradient in each step, and no step moves it, while other parameters move")
                    .cause(match (half, rates.contains(&0.0)) {
                        (true, _) => "no optimizer knows it, its group's learning rate is 0, or the steps are too small \
                                      for its dtype and are rounded away",
                        (_, true) => "the learning rate of its group is 0, or no optimizer knows it",
                        _ => "no optimizer knows it, or the learning rate of its group is 0",
                    })
                    .cure(
                        "give it to an optimizer, which is built with the model that it steps; freeze it if it is not \
                         meant to be trained",
                    ),
            );
        }
    }
}

/// Whether a parameter moves by more than the rounding of a few of its elements.
fn is_noticeable(record: &Record<'_>, parameter: usize) -> bool {
    record.steps.iter().any(|step| {
        let norm = || step.start.parameters[parameter].stats().norm();
        step.change(parameter)
            .is_some_and(|change| change > 0.0 && change > 1e-7 * norm())
    })
}

/// The smallest ratio of step to gradient, among the parameters that move.
fn smallest_rate(record: &Record<'_>) -> Option<f64> {
    let rates = record.steps.iter().flat_map(|step| {
        let parameters = record.parameters.iter().enumerate();
        parameters.filter_map(|(index, known)| {
            let rate = step.change(index)? / step.grad_stats(known.leaf)?.norm();
            Some(rate).filter(|rate| rate.is_finite() && *rate > 0.0)
        })
    });
    rates.reduce(f64::min)
}

/// Whether a step at this ratio would be lost when the value is rounded: the gradient of a bias before a normalization is
/// only rounding error.
fn is_rounded_away(record: &Record<'_>, parameter: usize, rate: Option<f64>) -> bool {
    let leaf = record.parameters[parameter].leaf;
    let grads = record.steps.iter().filter_map(|step| step.grad_stats(leaf));
    let largest = grads.map(|grad| grad.max_abs).fold(0.0, f64::max);
    let value = record.steps[0].start.parameters[parameter].stats();
    rate.is_some_and(|rate| rate * largest < 1e-6 * value.max_abs)
}
