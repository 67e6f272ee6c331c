//! The elements of the drawing.

use std::collections::HashSet;

use crate::inspect::units::group_digits;
use crate::inspect::{Endpoint, TensorInfo, Trace};

/// Nested boxes, and lines between the innermost ones. Node 0 contains all others.
pub(super) struct Graph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

pub(super) struct Node {
    /// For file formats in which nodes have names.
    pub(super) id: String,
    pub(super) role: Role,
    /// The type of the module, or another label.
    pub(super) kind: String,
    /// The name that distinguishes it from others of its type.
    pub(super) name: String,
    /// The tooltip.
    pub(super) about: String,
    pub(super) parent: usize,
    pub(super) children: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Module,
    /// A module that has parameters of its own.
    Learned,
    Input,
    Output,
}

pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) label: String,
}

impl Graph {
    pub(super) fn new(trace: &Trace, depth: usize) -> Self {
        let mut graph = Self {
            nodes: Vec::new(),
            edges: Vec::new(),
        };
        graph.add(
            0,
            "model".to_owned(),
            Role::Module,
            String::new(),
            String::new(),
            String::new(),
        );
        let ends = |tensors: &[TensorInfo]| tensors.iter().cloned().enumerate().collect::<Vec<_>>();
        let inputs = ends(trace.inputs()).into_iter().map(|(i, tensor)| {
            let text = about_tensors("", std::slice::from_ref(&tensor));
            graph.add(
                0,
                format!("input{i}"),
                Role::Input,
                "input".to_owned(),
                tensor.shape.to_string(),
                text,
            )
        });
        let inputs: Vec<usize> = inputs.collect();
        let calls = graph.add_calls(trace, depth);
        let outputs = ends(trace.outputs()).into_iter().map(|(i, tensor)| {
            let text = about_tensors("", std::slice::from_ref(&tensor));
            graph.add(
                0,
                format!("output{i}"),
                Role::Output,
                "output".to_owned(),
                tensor.shape.to_string(),
                text,
            )
        });
        let outputs: Vec<usize> = outputs.collect();
        let node = |place: Endpoint| match place {
            Endpoint::Input(i) => inputs.get(i),
            Endpoint::Call(i) => calls.get(i),
            Endpoint::Output(i) => outputs.get(i),
        };
        let mut known = HashSet::new();
        for flow in trace.flows() {
            let (Some(&from), Some(&to)) = (node(flow.from), node(flow.to)) else {
                continue;
            };
            let label = flow.tensor.shape.to_string();
            if from != to && known.insert((from, to, label.clone())) {
                graph.edges.push(Edge { from, to, label });
            }
        }
        graph
    }

    fn add(
        &mut self,
        parent: usize,
        id: String,
        role: Role,
        kind: String,
        name: String,
        about: String,
    ) -> usize {
        let index = self.nodes.len();
        self.nodes.push(Node {
            id,
            role,
            kind,
            name,
            about,
            parent,
            children: Vec::new(),
        });
        if index > 0 {
            self.nodes[parent].children.push(index);
        }
        index
    }

    /// The node of each call; for one that is too deep, that of the enclosing call.
    fn add_calls(&mut self, trace: &Trace, depth: usize) -> Vec<usize> {
        let mut nodes: Vec<usize> = Vec::new();
        let mut depths: Vec<usize> = Vec::new();
        for (index, call) in trace.calls().iter().enumerate() {
            let level = call.parent.map_or(0, |parent| depths[parent] + 1);
            depths.push(level);
            let around = call.parent.map_or(0, |parent| nodes[parent]);
            if level > depth {
                nodes.push(around);
                continue;
            }
            let outer = call
                .parent
                .map(|parent| trace.calls()[parent].path.as_str());
            let name = outer.and_then(|outer| call.path.strip_prefix(outer));
            let name = name.unwrap_or(&call.path).trim_start_matches('.');
            let own: usize = call
                .parameters
                .iter()
                .map(|own| own.tensor.shape.numel())
                .sum();
            let role = if own > 0 { Role::Learned } else { Role::Module };
            let mut about = match call.path.as_str() {
                "" => call.kind.to_owned(),
                path => format!("{path} ({})", call.kind),
            };
            about.push_str(&about_tensors("\nin: ", &call.inputs));
            about.push_str(&about_tensors("\nout: ", &call.outputs));
            if own > 0 {
                about.push_str(&format!("\nparameters: {}", group_digits(own as u64)));
            }
            about.push_str(&format!("\ntime: {:.3} ms", call.time.as_secs_f64() * 1e3));
            let id = format!("call{index}");
            nodes.push(self.add(
                around,
                id,
                role,
                call.kind.to_owned(),
                name.to_owned(),
                about,
            ));
        }
        nodes
    }

    /// A node and its containers, innermost first.
    pub(super) fn ancestors(&self, node: usize) -> Vec<usize> {
        let mut chain = vec![node];
        let mut at = node;
        while at != 0 {
            at = self.nodes[at].parent;
            chain.push(at);
        }
        chain
    }

    /// The innermost node that contains both ends of an edge, and the two children of it that they are in.
    pub(super) fn find_common_ancestor(&self, edge: &Edge) -> Option<(usize, usize, usize)> {
        let (from, to) = (self.ancestors(edge.from), self.ancestors(edge.to));
        let shared = from
            .iter()
            .rev()
            .zip(to.iter().rev())
            .take_while(|(a, b)| a == b)
            .count();
        let (from_end, to_end) = (from.len() - shared, to.len() - shared);
        let inside =
            |chain: &[usize], end: usize| end.checked_sub(1).and_then(|i| chain.get(i).copied());
        let meeting = from.get(from_end).copied()?;
        Some((meeting, inside(&from, from_end)?, inside(&to, to_end)?))
    }
}

fn about_tensors(before: &str, tensors: &[TensorInfo]) -> String {
    let each = tensors
        .iter()
        .map(|tensor| format!("{} {}", tensor.dtype, tensor.shape));
    let each: Vec<String> = each.collect();
    if each.is_empty() {
        return String::new();
    }
    format!("{before}{}", each.join(", "))
}
