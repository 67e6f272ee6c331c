//! Frozen parts that move: pitfalls 28 and 29.

use crate::Tensor;
use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{Record, Step};
use crate::audit::stats::{same_values, values};

/// Parameters that are frozen, or paused in every step, but change. A parameter that follows another one, like a teacher's
/// average, is intended to change.
pub(in crate::audit) struct FrozenParameterMoved;

impl Check for FrozenParameterMoved {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        for (index, known) in record.parameters.iter().enumerate() {
            if record.is_trainable(index) {
                continue;
            }
            let moved = |step: &&Step| step.moved(index) && !follows(record, step, index);
            let Some(number) = record.steps.iter().position(|step| moved(&step)) else {
                continue;
            };
            findings.push(
                Finding::error(FindingKind::FrozenParameterMoved, &known.path)
                    .message(format!("it is frozen, and step {number} changed its value"))
                    .cause(
                        "something other than an optimizer of this crate sets it: weight decay or a loop over all \
                         parameters that does not ask `requires_grad`, or a load in the step",
                    )
                    .cure("leave out parameters whose `requires_grad()` is false, or do not freeze it")
                    .number("step", number as f64),
            );
        }
    }
}

/// Whether a frozen parameter moved towards another parameter of its shape.
fn follows(record: &Record<'_>, step: &Step, parameter: usize) -> bool {
    let before = &step.start.parameters[parameter].value;
    let after = &step.end.parameters[parameter].value;
    let (Some(from), Some(to)) = (values(before), values(after)) else {
        return false;
    };
    let leads = |value: &Tensor| {
        let Some(goal) = values(value).filter(|_| value.shape() == before.shape()) else {
            return false;
        };
        let (mut dot, mut moved, mut way) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut rounding = 0.0_f64;
        for ((from, to), goal) in from.iter().zip(&to).zip(&goal) {
            let (step, left) = (f64::from(to - from), f64::from(goal - from));
            dot += step * left;
            moved += step * step;
            way += left * left;
            rounding += f64::from(from * f32::EPSILON).powi(2);
        }
        // The rest of the step, off the direction: for small steps, rounding is a large part.
        let beside = moved - dot * dot / way;
        dot > 0.0 && beside < 0.02 * moved + rounding && moved <= 1.01 * way + rounding
    };
    let states = [&step.start, &step.end].map(|state| state.parameters.iter().enumerate());
    let others = states
        .into_iter()
        .flatten()
        .filter(|(index, _)| record.is_trainable(*index));
    others.into_iter().any(|(_, other)| leads(&other.value))
}

/// Buffers that change in modules whose parameters are all frozen and do not change.
pub(in crate::audit) struct FrozenStatisticsDrift;

impl Check for FrozenStatisticsDrift {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        for (module, known) in record.modules.iter().enumerate() {
            let drifts = known.buffers.iter().filter(|&&buffer| {
                record.steps.iter().any(|step| {
                    let [before, after] =
                        [&step.start, &step.end].map(|state| &state.buffers[buffer]);
                    !same_values(before, after)
                })
            });
            let drifts: Vec<usize> = drifts.copied().collect();
            let has_mode = record
                .steps
                .iter()
                .any(|step| step.end.modes[module].is_some());
            let Some(&first) = drifts.first().filter(|_| has_mode) else {
                continue;
            };
            // Without parameters of its own, it counts as frozen if its container is.
            let mut around = record
                .with_parents(module)
                .map(|it| record.parameters_within(it));
            let Some(parameters) = around.find(|parameters| !parameters.is_empty()) else {
                continue;
            };
            let stands = |&index: &usize| {
                let moved = record.steps.iter().any(|step| step.moved(index));
                !record.is_trainable(index) && !moved
            };
            if !parameters.iter().all(stands) {
                continue;
            }
            let name = record.name_module(module);
            findings.push(
                Finding::error(FindingKind::FrozenStatisticsDrift, &record.buffers[first].path)
                    .message(format!(
                        "the parameters of {name} are frozen, and its statistics change in each step"))
                    .cause(
                        "`set_requires_grad(false)` and `freeze_parameters` stop the parameters only; in training mode, \
                         running statistics go on",
                    )
                    .cure("freeze it by `model.freeze(path)`, which covers statistics, or put it into evaluation mode")
                    .number("buffers", drifts.len() as f64),
            );
        }
    }
}
