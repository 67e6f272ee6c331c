//! Training in evaluation mode: pitfall 36.

use std::collections::BTreeSet;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::{FindingKind, Severity};
use crate::audit::record::{Record, Step};

/// Modules in evaluation mode through whose calls a gradient flows to trained parameters.
pub(in crate::audit) struct EvalModeTraining;

impl Check for EvalModeTraining {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        // An evaluation in one of the steps may leave the whole model in this mode for later steps.
        let mut of_last = (0..record.steps.len()).map(|first| in_evaluation(record, first));
        let of_all = of_last.find(|in_eval| in_eval.contains(&Some(true)) && is_all(in_eval));
        let in_eval = of_all.unwrap_or_else(|| in_evaluation(record, 0));
        let all = is_all(&in_eval);
        let mut covered = vec![false; record.modules.len()];
        for module in 0..record.modules.len() {
            let within = || {
                let modules = record.modules.iter().enumerate();
                modules
                    .filter(move |(i, _)| record.is_within(*i, module))
                    .map(|(i, _)| i)
            };
            let flags: Vec<usize> = within().filter(|&i| in_eval[i].is_some()).collect();
            let is_eval = !flags.is_empty() && flags.iter().all(|&i| in_eval[i] == Some(true));
            if covered[module] || !is_eval {
                continue;
            }
            within().for_each(|i| covered[i] = true);
            let trained = record
                .parameters_within(module)
                .into_iter()
                .filter(|&index| {
                    let leaf = record.parameters[index].leaf;
                    record.steps.iter().any(|step: &Step| step.trains(leaf))
                });
            let trained = trained.count();
            // A single dropout or normalization is put into evaluation mode only on purpose.
            let is_single = record
                .modules
                .iter()
                .all(|other| other.parent != Some(module));
            if trained == 0 || (is_single && !all) {
                continue;
            }
            let severity = if all {
                Severity::Error
            } else {
                Severity::Warning
            };
            let path = &record.modules[module].path;
            let name = record.name_module(module);
            let kinds: BTreeSet<&str> = flags.iter().map(|&i| record.modules[i].kind).collect();
            let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
            findings.push(
                Finding::new(FindingKind::EvalModeTraining, severity, path)
                    .message(format!("{name} is trained in evaluation mode"))
                    .cause(format!(
                        "`eval()` was called and `train()` was not called after it: {kinds} compute(s) as in \
                         evaluation"
                    ))
                    .cure(
                        "call `model.train()` before the step; freeze what is not to be trained by \
                         `model.freeze(path)`",
                    )
                    .number("parameters", trained as f64)
                    .number("modules", flags.len() as f64),
            );
        }
    }
}

/// The modules with a mode that a gradient passed through in steps from `first` on, and whether they were always in
/// evaluation mode.
fn in_evaluation(record: &Record<'_>, first: usize) -> Vec<Option<bool>> {
    let mut in_eval: Vec<Option<bool>> = vec![None; record.modules.len()];
    for step in record.steps.iter().skip(first) {
        for (_, module, call) in step.model_calls() {
            let Some(mode) = call.mode else { continue };
            let mut nodes = call.outputs.iter().filter_map(|output| output.node);
            if nodes.any(|node| step.reaches(node)) {
                let eval = !mode.training && !mode.frozen;
                in_eval[module] = Some(in_eval[module].unwrap_or(true) && eval);
            }
        }
    }
    in_eval
}

/// Whether all modules with a mode are in evaluation mode.
fn is_all(in_eval: &[Option<bool>]) -> bool {
    in_eval.iter().flatten().all(|&eval| eval)
}
