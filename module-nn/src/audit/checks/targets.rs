//! Targets from which nothing can be learned.

use std::collections::BTreeMap;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{CallRecord, Record, Step};
use crate::{DType, Tensor};

/// Finds targets of losses that are all ignored, all equal, or beyond what the loss or the prediction can be.
///
/// It sees losses that are called as modules, and looks at all their targets of all steps together.
pub(in crate::audit) struct SuspiciousTargets;

/// Losses whose targets are classes, by the names of their types.
const OF_CLASSES: [&str; 3] = ["CrossEntropyLoss", "LinearCrossEntropyLoss", "NLLLoss"];
/// Those whose targets are probabilities.
const OF_PROBABILITIES: [&str; 2] = ["BCELoss", "BCEWithLogitsLoss"];
/// Those whose targets are what the prediction is to become.
const OF_NUMBERS: [&str; 4] = ["MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss"];

/// How many targets there must be before equal ones are more than chance.
const ENOUGH: usize = 16;

/// The targets of a loss, by the path or the name under which it is reported.
#[derive(Default)]
struct Targets {
    kind: &'static str,
    count: usize,
    least: f64,
    greatest: f64,
    /// Values that the prediction cannot have, as far as an activation before the loss bounds it.
    beyond: usize,
    /// The activation with the range that it leaves.
    bound: Option<(&'static str, f64, f64)>,
}

impl Check for SuspiciousTargets {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let mut losses: BTreeMap<String, Targets> = BTreeMap::new();
        for step in &record.steps {
            for call in step
                .calls
                .iter()
                .filter(|call| is_loss(call.kind) && !call.recomputed)
            {
                let path = match call.module {
                    Some(module) => record.modules[module].path.clone(),
                    None => call.kind.to_owned(),
                };
                let targets = losses.entry(path).or_insert_with(|| Targets {
                    kind: call.kind,
                    least: f64::INFINITY,
                    greatest: f64::NEG_INFINITY,
                    ..Targets::default()
                });
                targets.add(step, call);
            }
        }
        let found = losses
            .iter()
            .filter_map(|(path, targets)| targets.finding(path));
        findings.extend(found);
    }
}

fn is_loss(kind: &str) -> bool {
    [&OF_CLASSES[..], &OF_PROBABILITIES, &OF_NUMBERS]
        .concat()
        .contains(&kind)
}

impl Targets {
    fn add(&mut self, step: &Step, call: &CallRecord) {
        let [prediction, target] = &call.inputs[..] else {
            return;
        };
        let values = numbers(&target.tensor);
        self.count += values.len();
        for &value in &values {
            self.least = self.least.min(value);
            self.greatest = self.greatest.max(value);
        }
        let node = prediction.node.and_then(|node| step.graph.get(node));
        let bound = node.and_then(|node| range(node.name));
        if let Some((name, least, greatest)) = bound.filter(|_| OF_NUMBERS.contains(&call.kind)) {
            let outside = |value: &&f64| !(least..=greatest).contains(*value);
            self.beyond += values.iter().filter(outside).count();
            self.bound = Some((name, least, greatest));
        }
    }

    fn finding(&self, path: &str) -> Option<Finding> {
        let Self {
            kind,
            count,
            least,
            greatest,
            ..
        } = *self;
        if count == 0 || least.is_nan() {
            return None;
        }
        let (is_error, message, cause, cure) = if OF_CLASSES.contains(&kind) && greatest < 0.0 {
            (
                true,
                format!("all of the {count} targets are {greatest}, which the loss ignores"),
                "labels were padded or masked, and none is left that the loss learns from",
                "check how labels are made, and the loss's `ignore_index`",
            )
        } else if OF_PROBABILITIES.contains(&kind) && (least < 0.0 || greatest > 1.0) {
            (
                true,
                format!("targets from {least} to {greatest} are no probabilities"),
                "the loss falls without a bound in such targets",
                "divide masks of bytes by 255, count classes from 0, or use another loss",
            )
        } else if let Some((name, from, to)) = self.bound.filter(|_| self.beyond > 0) {
            (
                true,
                format!(
                    "{} of {count} targets are outside of [{from}, {to}], which `{name}` before the loss cannot leave",
                    self.beyond
                ),
                "the last activation bounds the prediction",
                "scale the targets, or leave the last activation out",
            )
        } else if count >= ENOUGH && least == greatest {
            (
                false,
                format!("all of the {count} targets are {least}"),
                "nothing about the input can be learned from targets that are all the same",
                "check how targets are loaded and indexed; allow it if only these steps are so",
            )
        } else {
            return None;
        };
        let finding = match is_error {
            true => Finding::error(FindingKind::SuspiciousTargets, path),
            false => Finding::warning(FindingKind::SuspiciousTargets, path),
        };
        let finding = finding.message(message).cause(cause).cure(cure);
        let finding = finding.number("targets", count as f64);
        Some(finding.number("least", least).number("greatest", greatest))
    }
}

/// The range of an activation, by the name of its node.
fn range(name: &'static str) -> Option<(&'static str, f64, f64)> {
    match name {
        "sigmoid" | "softmax" => Some((name, 0.0, 1.0)),
        "tanh" => Some((name, -1.0, 1.0)),
        _ => None,
    }
}

/// The values of real numbers of whatever dtype.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    if !tensor.has_values() || tensor.is_packed() || tensor.dtype().is_complex() {
        return Vec::new();
    }
    let values = crate::no_grad(|| tensor.detach().to_dtype(DType::F64)?.to_vec::<f64>());
    values.unwrap_or_default()
}
