//! Targets from which nothing can be learned.

use std::collections::BTreeMap;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{LossRecord, Record, Step};
use crate::{DType, Tensor};

/// Finds loss targets that are all ignored, all equal, or outside the range of the loss or the prediction.
///
/// It considers all targets of a loss in all steps together, whether the loss is called as a module or as a function.
pub(in crate::audit) struct SuspiciousTargets;

/// How many targets there must be before equal ones are not a coincidence.
const ENOUGH: usize = 16;

/// How far a target may be out of range, because resizing and mixing targets rounds.
const ROUNDING: f64 = 1e-5;

/// The meaning of the targets of a loss.
#[derive(Clone, Copy, PartialEq)]
enum Meaning {
    Classes,
    Probabilities,
    /// Numbers that the prediction should approach.
    Numbers,
}

impl Meaning {
    /// `None` for a loss about which nothing is known.
    fn of_loss(name: &str) -> Option<Self> {
        match name {
            "cross_entropy" | "nll_loss" => Some(Self::Classes),
            "binary_cross_entropy" | "binary_cross_entropy_with_logits" => {
                Some(Self::Probabilities)
            }
            "mse_loss" | "l1_loss" | "smooth_l1_loss" | "huber_loss" => Some(Self::Numbers),
            _ => None,
        }
    }
}

/// The targets of a loss.
struct Targets {
    meaning: Meaning,
    count: usize,
    /// How many are not ignored; the following fields are about these.
    kept: usize,
    least: f64,
    greatest: f64,
    /// Values that the prediction cannot have, according to the activation before the loss.
    beyond: usize,
    /// The activation with its output range.
    bound: Option<(&'static str, f64, f64)>,
    /// Whether logits were concatenated, so that the same one may be right for every row: the similarity to the matching
    /// element next to the similarities to others.
    is_contrast: bool,
}

impl Check for SuspiciousTargets {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        // By the path or name under which the loss is reported, and its function.
        let mut losses: BTreeMap<(String, &str), Targets> = BTreeMap::new();
        for step in &record.steps {
            for loss in &step.loss_calls {
                let Some(meaning) = Meaning::of_loss(loss.name) else {
                    continue;
                };
                let targets = losses
                    .entry((path(record, step, loss), loss.name))
                    .or_insert_with(|| Targets::new(meaning));
                targets.add(step, loss);
            }
        }
        // The target of a penalty is constant beside the targets of the loss itself.
        let is_alone = !losses.values().any(Targets::vary);
        let found = losses
            .iter()
            .filter_map(|((path, name), targets)| targets.finding(path, name, is_alone));
        findings.extend(found);
    }
}

/// The path of the module that computes a loss; the name of its type if it is not part of the model, and that of the
/// function if it is computed outside all calls.
fn path(record: &Record<'_>, step: &Step, loss: &LossRecord) -> String {
    let Some(call) = loss.call.map(|call| &step.calls[call]) else {
        return loss.name.to_owned();
    };
    match call.module {
        Some(module) => record.modules[module].path.clone(),
        None => call.kind.to_owned(),
    }
}

impl Targets {
    fn new(meaning: Meaning) -> Self {
        Self {
            meaning,
            count: 0,
            kept: 0,
            least: f64::INFINITY,
            greatest: f64::NEG_INFINITY,
            beyond: 0,
            bound: None,
            is_contrast: false,
        }
    }

    fn add(&mut self, step: &Step, loss: &LossRecord) {
        let mut values = numbers(&loss.target);
        self.count += values.len();
        if let Some(ignored) = loss.ignore_index {
            values.retain(|&value| value != ignored as f64);
        }
        self.kept += values.len();
        for &value in &values {
            self.least = self.least.min(value);
            self.greatest = self.greatest.max(value);
        }
        self.is_contrast |= loss.input.is_some_and(|node| is_put_together(step, node));
        let given = loss.input.and_then(|node| step.graph.values_of(node));
        let bound = given.and_then(|given| range(given.name));
        if let Some((name, least, greatest)) = bound.filter(|_| self.meaning == Meaning::Numbers) {
            let range = least - ROUNDING..=greatest + ROUNDING;
            let outside = |value: &&f64| !range.contains(*value);
            self.beyond += values.iter().filter(outside).count();
            self.bound = Some((name, least, greatest));
        }
    }

    /// Whether they are not all equal.
    fn vary(&self) -> bool {
        self.least < self.greatest
    }

    /// The problem with the targets of a loss, unless another loss has sound or varying targets.
    fn finding(&self, path: &str, loss: &str, is_alone: bool) -> Option<Finding> {
        let Self {
            meaning,
            count,
            kept,
            least,
            greatest,
            ..
        } = *self;
        let is_constant = kept >= ENOUGH && least == greatest && !self.is_contrast;
        let error = |message: String| {
            Finding::error(FindingKind::SuspiciousTargets, path)
                .message(message)
                .number("targets", count as f64)
        };
        let with_range =
            |finding: Finding| finding.number("least", least).number("greatest", greatest);
        if count > 0 && kept == 0 {
            let finding = error(format!("`{loss}` ignores all of the {count} targets"))
                .cause("labels were padded or masked, and none is left that the loss learns from")
                .cure("check how labels are made, and the loss's `ignore_index`");
            return Some(finding);
        }
        let (is_below, is_above) = (least < -ROUNDING, greatest > 1.0 + ROUNDING);
        if meaning == Meaning::Probabilities && (is_below || is_above) {
            let message =
                format!("targets of `{loss}` from {least} to {greatest} are not probabilities");
            let finding = error(message)
                .cause("the loss falls without a bound in such targets")
                .cure("divide masks of bytes by 255, count classes from 0, or use another loss");
            return Some(with_range(finding));
        }
        if let Some((name, from, to)) = self.bound.filter(|_| self.beyond > 0) {
            let beyond = self.beyond;
            let finding = error(format!(
                "{beyond} of {count} targets of `{loss}` are outside of [{from}, {to}], which `{name}` before it \
                 cannot leave"
            ))
            .cause("the last activation bounds the prediction")
            .cure("scale the targets, or leave the last activation out");
            return Some(with_range(finding));
        }
        if is_constant && (is_alone || meaning != Meaning::Numbers) {
            let finding = Finding::warning(FindingKind::SuspiciousTargets, path)
                .message(format!("all of the {kept} targets of `{loss}` are {least}"))
                .cause("nothing about the input can be learned from targets that are all the same")
                .cure(
                    "check how targets are loaded and indexed; allow it if only these steps are so",
                )
                .number("targets", kept as f64);
            return Some(with_range(finding));
        }
        None
    }
}

/// Whether the values of a node were concatenated from others, and possibly scaled.
fn is_put_together(step: &Step, mut node: u64) -> bool {
    loop {
        let Some(info) = step.graph.values_of(node) else {
            return false;
        };
        match (info.name, info.inputs.first()) {
            ("mul" | "div", Some(&input)) => node = input,
            (name, _) => return name == "cat",
        }
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

/// The values of real numbers of any dtype.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    if !tensor.has_values() || tensor.is_packed() || tensor.dtype().is_complex() {
        return Vec::new();
    }
    let values = crate::no_grad(|| tensor.detach().to_dtype(DType::F64)?.to_vec::<f64>());
    values.unwrap_or_default()
}
