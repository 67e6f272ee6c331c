//! Where graphs are cut.

use super::record::{CallRecord, Record, Seen, Step};

/// A result that continued without its graph.
pub(super) struct Cut {
    /// The call that returned the result, as an index.
    pub(super) above: usize,
    /// The call that received it, as an index.
    pub(super) below: usize,
    /// The parameters that nothing trains because of it, as indices.
    pub(super) lost: Vec<usize>,
}

/// The cuts of a step that prevent parameters from being trained in any step.
pub(super) fn cuts(record: &Record<'_>, step: &Step) -> Vec<Cut> {
    let trained = |index: &usize| {
        let leaf = record.parameters[*index].leaf;
        record.steps.iter().any(|step| step.trains(leaf))
    };
    let mut missing: Vec<usize> = (0..record.parameters.len()).collect();
    missing.retain(|index| !trained(index) && record.is_trainable(*index));
    let mut found: Vec<Cut> = Vec::new();
    if missing.is_empty() || step.passes.is_empty() {
        return found;
    }
    for (below, call) in step.calls.iter().enumerate() {
        if call.recomputed || !call.grad_enabled {
            continue;
        }
        for input in call.inputs.iter().filter(|input| is_untracked(input)) {
            let Some(above) = source(step, below, input) else {
                continue;
            };
            if found.iter().any(|known| known.above == above) {
                continue;
            }
            let nodes = step.calls[above]
                .outputs
                .iter()
                .filter_map(|output| output.node);
            let before = step.graph.ancestors(nodes);
            let lost = missing.iter().copied();
            let lost = lost.filter(|&index| before.contains(&record.parameters[index].leaf));
            let lost: Vec<usize> = lost.collect();
            if !lost.is_empty() {
                found.push(Cut { above, below, lost });
            }
        }
    }
    found
}

fn is_untracked(input: &Seen) -> bool {
    input.node.is_none() && input.tensor.dtype().is_floating_point()
}

/// The outermost call before call `below` whose tracked result is `input` without its graph: it has its memory, or its
/// shape if no other origin is known.
fn source(step: &Step, below: usize, input: &Seen) -> Option<usize> {
    let around: Vec<usize> =
        std::iter::successors(Some(below), |&call| step.calls[call].parent).collect();
    let given = |call: &CallRecord| -> Vec<bool> {
        let tracked = call.outputs.iter().filter(|output| output.node.is_some());
        tracked
            .map(|output| output.tensor.shares_memory_with(&input.tensor))
            .collect()
    };
    let before = step.calls[..below].iter().enumerate();
    let mut before = before.filter(|(index, _)| !around.contains(index));
    if let Some((index, _)) = before.find(|(_, call)| given(call).contains(&true)) {
        return Some(index);
    }
    // An outside input is not a result.
    let outside = step.calls.iter().filter(|call| call.parent.is_none());
    let mut outside = outside.flat_map(|call| &call.inputs);
    let known = step.calls[..below].iter();
    let mut untracked = known
        .flat_map(|call| &call.outputs)
        .filter(|output| output.node.is_none());
    let same = |other: &Seen| other.tensor.shares_memory_with(&input.tensor);
    let alike = |other: &Seen| other.tensor.shape() == input.tensor.shape();
    if outside.any(same) || untracked.any(same) {
        return None;
    }
    // The last other module, whose result may have been detached and then changed.
    let beside = |call: &CallRecord| call.parent == step.calls[below].parent;
    let last = step.calls[..below].iter().rposition(beside)?;
    let is_alike = |output: &Seen| output.node.is_some() && alike(output);
    step.calls[last]
        .outputs
        .iter()
        .any(is_alike)
        .then_some(last)
}
