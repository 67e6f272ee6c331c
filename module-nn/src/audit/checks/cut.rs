//! Graphs that are cut: pitfall 34.

use std::collections::BTreeSet;

use crate::audit::check::Check;
use crate::audit::cuts::cuts;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::Record;

/// Modules whose result continued without its graph, so that nothing trains the parameters before it.
pub(in crate::audit) struct CutGraph;

impl Check for CutGraph {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let mut reported = BTreeSet::new();
        for step in &record.steps {
            for cut in cuts(record, step) {
                let above = &step.calls[cut.above];
                if !reported.insert(above.module) {
                    continue;
                }
                let path = above
                    .module
                    .map_or("", |module| &record.modules[module].path);
                let first = &record.parameters[cut.lost[0]].path;
                let lost = match cut.lost.len() {
                    1 => format!("`{first}`"),
                    count => format!("{count} parameters, `{first}` the first of them"),
                };
                let below = record.name_call(&step.calls[cut.below]);
                let finding = Finding::error(FindingKind::CutGraph, path)
                    .message(format!(
                        "its result goes into {below} without its graph: no gradient reaches {lost}"
                    ))
                    .cause("it was detached on the way, by `detach`, under `no_grad` or by a copy of its values")
                    .cure(
                        "pass the tensor on as it is; if the modules before the cut are not meant to be trained, \
                         freeze them (`model.freeze(path)`)",
                    )
                    .number("parameters", cut.lost.len() as f64);
                findings.push(finding);
            }
        }
    }
}
