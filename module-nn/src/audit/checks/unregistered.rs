//! Tensors that are trained but registered by no module: pitfalls 8 and 33.

use std::collections::{BTreeMap, HashSet};

use crate::audit::check::Check;
use crate::audit::finding::Finding;
use crate::audit::kind::{FindingKind, Severity};
use crate::audit::record::{Record, Step};

/// Leaves that get a gradient and are not parameters of the model. Leaves that another module outside the model uses, such
/// as a second network or a loss with parameters, belong to that module.
pub(in crate::audit) struct UnregisteredParameter;

impl Check for UnregisteredParameter {
    fn check(&self, record: &Record<'_>, findings: &mut Vec<Finding>) {
        let registered: HashSet<u64> = record.parameters.iter().map(|known| known.leaf).collect();
        let mut found: BTreeMap<Option<usize>, Use> = BTreeMap::new();
        for step in &record.steps {
            let mut leaves = trained_leaves(step);
            leaves.retain(|leaf| !registered.contains(leaf) && !is_given(step, *leaf));
            leaves.sort_unstable();
            let mut seen = HashSet::new();
            for leaf in leaves {
                let Some((module, used)) = first_use(step, leaf) else {
                    continue;
                };
                let known = found.entry(module).or_insert(used);
                if seen.insert(module) {
                    known.count = 0;
                }
                known.count += 1;
            }
        }
        for (module, used) in found {
            let count = used.count;
            let path = module.map_or("", |module| &record.modules[module].path);
            let name = module.map_or(String::new(), |module| record.name_module(module));
            let severity = if module.is_some() {
                Severity::Error
            } else {
                Severity::Warning
            };
            let finding = Finding::new(FindingKind::UnregisteredParameter, severity, path);
            let finding = match used.made_here {
                _ if module.is_none() => finding
                    .message(format!(
                        "{count} tensor(s) beside the model get a gradient and are not parameters of it (first used by \
                         `{}`)",
                        used.op
                    ))
                    .cause("the training loop uses a leaf that no module registers"),
                true => finding
                    .message(format!(
                        "{count} tensor(s) made during the call of {name} get a gradient (first used by `{}`{})",
                        used.op, used.within
                    ))
                    .cause(
                        "a module, parameter or leaf is created in `forward`: it is another one in each step, \
                         and is never updated or saved",
                    ),
                false => finding
                    .message(format!(
                        "{count} tensor(s) used in {name} get a gradient and are not parameters of the model \
                         (first used by `{}`{})",
                        used.op, used.within
                    ))
                    .cause("no module registers them, so that optimizers and state dicts do not know them"),
            };
            findings.push(
                finding
                    .cure("make it a `Parameter` field of the module, built once where the module is built")
                    .number("tensors", count as f64),
            );
        }
    }
}

struct Use {
    op: &'static str,
    /// Whether the leaf is made during the call.
    made_here: bool,
    /// The module outside the model that uses it, in readable form.
    within: String,
    count: usize,
}

/// The leaves that passes of a step add gradients to.
fn trained_leaves(step: &Step) -> Vec<u64> {
    let leaves = step.graph.nodes().filter(|(_, info)| info.name == "leaf");
    leaves
        .map(|(leaf, _)| leaf)
        .filter(|leaf| step.trains(*leaf))
        .collect()
}

/// Whether a leaf is an input of the model, or has its gradient requested by `autograd::grad`.
fn is_given(step: &Step, leaf: u64) -> bool {
    let outermost = step.calls.iter().filter(|call| call.parent.is_none());
    let mut inputs = outermost.flat_map(|call| &call.inputs);
    let mut asked = step.passes.iter().filter_map(|pass| pass.inputs.as_ref());
    inputs.any(|input| input.node == Some(leaf)) || asked.any(|inputs| inputs.contains(&leaf))
}

/// The innermost module of the model in whose call a leaf is first used, no module if that is outside all calls; `None` if
/// another module uses it.
fn first_use(step: &Step, leaf: u64) -> Option<(Option<usize>, Use)> {
    let users = step
        .graph
        .nodes()
        .filter(|(_, info)| info.inputs.contains(&leaf));
    let (node, info) = users.min_by_key(|(node, _)| *node)?;
    let Some(innermost) = step.call_of_node(node) else {
        let used = Use {
            op: info.name,
            made_here: false,
            within: String::new(),
            count: 0,
        };
        return Some((None, used));
    };
    let around = std::iter::successors(Some(innermost), |&call| step.calls[call].parent);
    let call = around
        .into_iter()
        .find(|&call| step.calls[call].module.is_some())?;
    let used = Use {
        op: info.name,
        made_here: (step.calls[call].nodes.0..step.calls[call].nodes.1).contains(&leaf),
        within: match innermost == call {
            true => String::new(),
            false => format!(
                " in a `{}` that is not registered",
                step.calls[innermost].kind
            ),
        },
        count: 0,
    };
    Some((step.calls[call].module, used))
}
