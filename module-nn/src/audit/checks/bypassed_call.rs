//! Modules whose `forward` ran without `call`.

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;
use crate::hooks::is_hooked;

/// Finds modules with a hook that waits for a call, whose parameters were used without a call.
pub(in crate::audit) struct BypassedCall;

impl Check for BypassedCall {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        for (index, known) in record.modules.iter().enumerate() {
            let used = record.steps.iter().any(|step| {
                let trained = |&own: &usize| step.trains(record.parameters[own].leaf);
                known.parameters.iter().any(trained)
            });
            let called = || {
                let mut calls = record.steps.iter().flat_map(|step| &step.calls);
                calls.any(|call| call.module == Some(index))
            };
            if !used || !is_hooked(known.module) || called() {
                continue;
            }
            let finding = Finding::warning(FindingKind::BypassedCall, &known.path)
                .message("its parameters were used, and it was never called, so that its hooks did not run")
                .cause("`forward` was called instead of `call`, or another module used the parameters")
                .cure("write `self.layer.call(x)`");
            findings.push(finding);
        }
    }
}
