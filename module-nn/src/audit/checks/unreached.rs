//! Parameters that no loss depends on: pitfalls 32 and 35.

use std::collections::HashSet;

use crate::audit::check::Check;
use crate::audit::cuts::cuts;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{Record, Step};

/// Parameters that no pass of any step gives a gradient, with what happened to their module. Those before a cut are left to
/// [`CutGraph`](super::cut::CutGraph).
pub(in crate::audit) struct UnreachedParameter;

impl Check for UnreachedParameter {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let adds = |step: &Step| step.adding_passes().next().is_some();
        // Without a backward pass, nothing is known about any parameter.
        if !record.steps.iter().any(adds) {
            return;
        }
        // Parameters before a cut are listed with the cut.
        let lost = record.steps.iter().flat_map(|step| cuts(record, step));
        let lost: HashSet<usize> = lost.flat_map(|cut| cut.lost).collect();
        let indices = 0..record.parameters.len();
        let fates = indices.map(|index| fate(record, index).filter(|_| !lost.contains(&index)));
        let mut fates: Vec<Option<Fate>> = fates.collect();
        for module in 0..record.modules.len() {
            let mut within = record.parameters_within(module);
            within.retain(|&index| record.is_trainable(index));
            within.dedup();
            let first = within.first().and_then(|&index| fates[index]);
            let Some(first) = first.filter(|_| within.len() > 1) else {
                continue;
            };
            if within.iter().all(|&index| fates[index] == Some(first)) {
                within.iter().for_each(|&index| fates[index] = None);
                let path = &record.modules[module].path;
                findings.push(finding(record, first, path, module, within.len()));
            }
        }
        for (index, fate) in fates.into_iter().enumerate() {
            let known = &record.parameters[index];
            if let Some(fate) = fate {
                findings.push(finding(record, fate, &known.path, known.module, 1));
            }
        }
    }
}

/// Why a parameter has no gradient.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    NotCalled,
    /// The module's result does not depend on it.
    NotUsed,
    WithoutGraph,
    Discarded,
}

/// `None` for a parameter that is trained or need not be.
fn fate(record: &Record<'_>, parameter: usize) -> Option<Fate> {
    let leaf = record.parameters[parameter].leaf;
    if record.steps.iter().any(|step| step.trains(leaf)) || !record.is_trainable(parameter) {
        return None;
    }
    let mut fate = Fate::NotCalled;
    for step in &record.steps {
        for (_, module, call) in step.model_calls() {
            if !record.modules[module].parameters.contains(&parameter) {
                continue;
            }
            if !call.grad_enabled {
                fate = Fate::WithoutGraph;
                continue;
            }
            let nodes = call.outputs.iter().filter_map(|output| output.node);
            if !step.graph.ancestors(nodes).contains(&leaf) {
                fate = Fate::NotUsed;
                continue;
            }
            return Some(Fate::Discarded);
        }
    }
    Some(fate)
}

/// The finding for `count` parameters of `module` and its descendants.
fn finding(record: &Record<'_>, fate: Fate, path: &str, module: usize, count: usize) -> Finding {
    let finding =
        Finding::error(FindingKind::UnreachedParameter, path).number("parameters", count as f64);
    let what = match count {
        1 => "the loss does not depend on it".to_owned(),
        _ => format!("the loss does not depend on any of its {count} parameters"),
    };
    let module = record.name_module(called(record, module));
    let last = last_call(record);
    match fate {
        Fate::NotCalled => finding
            .message(format!("{what}: {module} was not called"))
            .cause(format!(
                "it never ran in the watched steps; the last module that ran is {last}"
            ))
            .cure(
                "call it in `forward` (by `call`), remove it, or freeze it if it is not meant to be trained",
            ),
        Fate::NotUsed => finding
            .message(format!("{what}, though {module} was called"))
            .cause("`forward` did not use it for what it returned")
            .cure("use it in `forward`, or remove it"),
        Fate::WithoutGraph => finding
            .message(format!("{what}: {module} was called under `no_grad`"))
            .cause("no graph was recorded, so that no gradient can come back")
            .cure("call it outside of `no_grad`, or freeze it if it is not meant to be trained"),
        Fate::Discarded => finding
            .message(format!("{what}: {module} was called, result unused"))
            .cause(format!(
                "nothing that the loss was computed from depends on what it returned; the last module that ran is \
                 {last}"
            ))
            .cure("use what it returns, as in `x = self.layer.call(x)?`, or remove the call"),
    }
}

/// The outermost module that was called, starting at `module` and going inward; `module` itself if none was.
fn called(record: &Record<'_>, module: usize) -> usize {
    let was_called = |&index: &usize| {
        let mut calls = record.steps.iter().flat_map(Step::model_calls);
        calls.any(|(_, called, _)| called == index)
    };
    let mut within =
        (module..record.modules.len()).filter(|&index| record.is_within(index, module));
    within.find(was_called).unwrap_or(module)
}

/// The last module that ran forward.
fn last_call(record: &Record<'_>) -> String {
    let steps = record.steps.iter();
    let mut last = steps.filter_map(|step| {
        let last = step
            .model_calls()
            .filter(|(_, module, _)| *module != 0)
            .last();
        last.map(|(_, module, _)| record.name_module(module))
    });
    last.next_back().unwrap_or_else(|| "none".to_owned())
}
