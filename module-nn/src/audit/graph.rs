//! The nodes of a graph, without the tensors that they keep alive.

use std::collections::{HashMap, HashSet};

use crate::GraphNode;

/// Operations that return the values of their input in another shape, order or dtype.
const KEEPING_VALUES: [&str; 9] = [
    "reshape",
    "contiguous",
    "transpose",
    "permute",
    "squeeze",
    "unsqueeze",
    "view",
    "flatten",
    "to_dtype",
];

/// The known nodes, by number.
#[derive(Default)]
pub(super) struct Graph {
    nodes: HashMap<u64, NodeInfo>,
}

/// An operation or a leaf.
pub(super) struct NodeInfo {
    /// `leaf` for a leaf.
    pub(super) name: &'static str,
    /// The nodes of its inputs, without those that need no gradient.
    pub(super) inputs: Vec<u64>,
}

impl Graph {
    /// Adds a node and everything that it was computed from.
    pub(super) fn add(&mut self, root: &GraphNode) {
        if self.nodes.contains_key(&root.id()) {
            return;
        }
        let mut open = vec![root.clone()];
        while let Some(node) = open.pop() {
            let inputs: Vec<GraphNode> = node.next_functions().into_iter().flatten().collect();
            let info = NodeInfo {
                name: node.name(),
                inputs: inputs.iter().map(GraphNode::id).collect(),
            };
            if self.nodes.insert(node.id(), info).is_none() {
                open.extend(
                    inputs
                        .into_iter()
                        .filter(|input| !self.nodes.contains_key(&input.id())),
                );
            }
        }
    }

    /// Removes leaves and everything that was computed only from them, as if they had never been tracked.
    pub(super) fn forget(&mut self, leaves: &HashSet<u64>) {
        let mut nodes: Vec<u64> = self.nodes.keys().copied().collect();
        // Each node is younger than those of its inputs.
        nodes.sort_unstable();
        let mut forgotten = leaves.clone();
        for node in nodes {
            let Some(info) = self.nodes.get_mut(&node) else {
                continue;
            };
            let had_inputs = !info.inputs.is_empty();
            info.inputs.retain(|input| !forgotten.contains(input));
            if forgotten.contains(&node) || (had_inputs && info.inputs.is_empty()) {
                forgotten.insert(node);
                self.nodes.remove(&node);
            }
        }
    }

    pub(super) fn get(&self, node: u64) -> Option<&NodeInfo> {
        self.nodes.get(&node)
    }

    /// The operation that computed the values of a node, ignoring changes of shape and dtype.
    pub(super) fn values_of(&self, node: u64) -> Option<&NodeInfo> {
        self.get(self.source_of(node)?)
    }

    /// The node that computed the values of a node, ignoring changes of shape and dtype.
    pub(super) fn source_of(&self, mut node: u64) -> Option<u64> {
        loop {
            let info = self.get(node)?;
            if !self.keeps_values(node) {
                return Some(node);
            }
            node = *info.inputs.first()?;
        }
    }

    /// Whether a node returns the values of its input.
    pub(super) fn keeps_values(&self, node: u64) -> bool {
        let info = self.get(node);
        info.is_some_and(|info| KEEPING_VALUES.contains(&info.name))
    }

    /// The nodes, in no particular order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = (u64, &NodeInfo)> {
        self.nodes.iter().map(|(&id, info)| (id, info))
    }

    /// The nodes that these were computed from, including themselves.
    pub(super) fn ancestors(&self, roots: impl IntoIterator<Item = u64>) -> HashSet<u64> {
        self.ancestors_by(roots, |_, _| true)
    }

    /// The same along paths through nodes that `follow` accepts.
    pub(super) fn ancestors_by(
        &self,
        roots: impl IntoIterator<Item = u64>,
        follow: impl Fn(u64, &NodeInfo) -> bool,
    ) -> HashSet<u64> {
        let mut open: Vec<u64> = roots.into_iter().collect();
        let mut found: HashSet<u64> = open.iter().copied().collect();
        while let Some(node) = open.pop() {
            let info = self.get(node).filter(|info| follow(node, info));
            for &input in info.map_or(&[][..], |info| &info.inputs) {
                if found.insert(input) {
                    open.push(input);
                }
            }
        }
        found
    }

    /// The nodes on the paths from `roots` to `inputs`, inclusive.
    pub(super) fn between(&self, roots: &[u64], inputs: &[u64]) -> HashSet<u64> {
        let mut nodes: Vec<u64> = self.ancestors(roots.iter().copied()).into_iter().collect();
        // A node is younger than its inputs.
        nodes.sort_unstable();
        let mut leads: HashSet<u64> = inputs.iter().copied().collect();
        for node in nodes {
            let before = self.get(node).map_or(&[][..], |info| &info.inputs);
            if before.iter().any(|input| leads.contains(input)) {
                leads.insert(node);
            }
        }
        leads
    }
}
