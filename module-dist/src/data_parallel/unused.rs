use std::collections::HashSet;

use module_nn::{Parameter, Tensor};

/// Which of the parameters `tensor` depends on.
pub(super) fn reached(tensor: &Tensor, parameters: &[&Parameter]) -> Vec<bool> {
    let mut seen = HashSet::new();
    let mut open: Vec<_> = tensor.graph_node().into_iter().collect();
    while let Some(node) = open.pop() {
        if seen.insert(node.id()) {
            open.extend(node.next_functions().into_iter().flatten());
        }
    }
    let is_reached = |parameter: &&Parameter| seen.contains(&parameter.graph_node().id());
    parameters.iter().map(is_reached).collect()
}
