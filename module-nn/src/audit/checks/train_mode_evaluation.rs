//! Evaluation in training mode.

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;

/// Finds modules that were called in training mode: a check of evaluations.
pub(in crate::audit) struct TrainModeEvaluation;

impl Check for TrainModeEvaluation {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let mut reported = Vec::new();
        for step in &record.steps {
            for (_, module, call) in step.model_calls() {
                let mode = call.mode.filter(|mode| mode.training && !mode.frozen);
                if mode.is_none() || reported.contains(&module) {
                    continue;
                }
                reported.push(module);
                let known = &record.modules[module];
                let finding = Finding::error(FindingKind::TrainModeEvaluation, &known.path)
                    .message(format!("the {} was called in training mode", known.kind))
                    .cause("it drops elements or uses the statistics of the batch, and may change its own")
                    .cure("call `eval` on the model before it is evaluated, and `train` afterwards");
                findings.push(finding);
            }
        }
    }
}
