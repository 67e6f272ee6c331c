//! Parameters that no loss depends on: pitfalls 32, 34 and 35.

use std::collections::HashSet;

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::FindingKind;
use crate::audit::record::{CallRecord, Record, Step};

/// Parameters that no pass of any step gives a gradient to, each with what happened to its module.
pub(in crate::audit) struct UnreachedParameter;

impl Check for UnreachedParameter {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let trained = |leaf| record.steps.iter().any(|step| step.trains(leaf));
        // Without a backward pass, nothing can be said of any parameter.
        if !record
            .steps
            .iter()
            .any(|step| step.passes.iter().any(|it| it.inputs.is_none()))
        {
            return;
        }
        let last = record.steps.iter().find_map(|step| last_call(record, step));
        let last = last.unwrap_or_else(|| "nothing that was seen".to_owned());
        for (index, parameter) in record.parameters.iter().enumerate() {
            if trained(parameter.leaf) || !record.is_trainable(index) {
                continue;
            }
            let fate = fate(record, index);
            let finding = Finding::error(FindingKind::UnreachedParameter, &parameter.path);
            let module = record.name_module(parameter.module);
            let finding = match fate {
                Fate::NotCalled => finding
                    .message(format!("the loss does not depend on it; {module} was not called"))
                    .cause(format!(
                        "the module that holds it never ran in the watched steps; the last one that ran is {last}"
                    ))
                    .cure("call the module in `forward`, remove it, or freeze it if it is not meant to be trained"),
                Fate::NotUsed => finding
                    .message(format!("the loss does not depend on it, though {module} was called"))
                    .cause("`forward` of the module did not use this parameter for its result")
                    .cure("use it in `forward`, or remove it"),
                Fate::WithoutGraph => finding
                    .message(format!("{module} was called without a graph, so that no gradient comes back"))
                    .cause("the call was made under `no_grad`")
                    .cure("call it outside of `no_grad`, or freeze the module if it is not meant to be trained"),
                Fate::Discarded => finding
                    .message(format!("the loss does not depend on it: {module} was called, result unused"))
                    .cause(format!(
                        "what the module gave went into nothing that the loss was computed from; the last module \
                         that ran is {last}"
                    ))
                    .cure("use the result of the call, as in `x = self.layer.call(x)?`, or remove the call"),
                Fate::Cut(by) => finding
                    .message(format!("no gradient comes back to it: the graph is cut after {module}"))
                    .cause(format!("what was computed from it was detached before {by}"))
                    .cure("see the finding `cut-graph`"),
            };
            findings.push(finding);
        }
    }
}

/// The last module that ran forward.
fn last_call(record: &Record<'_>, step: &Step) -> Option<String> {
    let (_, module, _) = step
        .model_calls()
        .filter(|(_, module, _)| *module != 0)
        .last()?;
    Some(record.name_module(module))
}

/// Why a parameter has no gradient.
enum Fate {
    NotCalled,
    NotUsed,
    WithoutGraph,
    Discarded,
    /// Before this module.
    Cut(String),
}

fn fate(record: &Record<'_>, parameter: usize) -> Fate {
    let leaf = record.parameters[parameter].leaf;
    let holds = |module: usize| record.modules[module].parameters.contains(&parameter);
    let mut fate = Fate::NotCalled;
    for step in &record.steps {
        for (_, module, call) in step.model_calls() {
            if !holds(module) {
                continue;
            }
            if !call.grad_enabled {
                fate = Fate::WithoutGraph;
                continue;
            }
            let nodes = call.outputs.iter().filter_map(|output| output.node);
            let nodes: Vec<u64> = nodes.collect();
            if !step.graph.ancestors(nodes.iter().copied()).contains(&leaf) {
                fate = Fate::NotUsed;
                continue;
            }
            return match cut_before(record, step, call) {
                Some(by) => Fate::Cut(by),
                None => Fate::Discarded,
            };
        }
    }
    fate
}

/// The first call that was given, without a graph, the memory of what `call` or a later call that depends on it
/// gave.
pub(super) fn cut_before(record: &Record<'_>, step: &Step, call: &CallRecord) -> Option<String> {
    let roots: HashSet<u64> = call
        .outputs
        .iter()
        .filter_map(|output| output.node)
        .collect();
    let depends = |node: u64| {
        let ancestors = step.graph.ancestors([node]);
        roots.iter().any(|root| ancestors.contains(root))
    };
    let given = step.calls.iter().flat_map(|call| &call.outputs);
    let given: Vec<_> = given
        .filter(|output| output.node.is_some_and(depends))
        .collect();
    let is_detached = |call: &&CallRecord| {
        let untracked = call.inputs.iter().filter(|input| input.node.is_none());
        let mut inputs = untracked.map(|input| &input.tensor);
        inputs.any(|input| {
            given
                .iter()
                .any(|known| known.tensor.shares_memory_with(input))
        })
    };
    step.calls
        .iter()
        .find(is_detached)
        .map(|call| record.name_call(call))
}
