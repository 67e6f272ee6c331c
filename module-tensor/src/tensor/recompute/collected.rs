use std::collections::HashMap;
use std::sync::Arc;

use super::super::node::Inputs;
use super::super::{Function, Input, Node, NodeKind, lock};
use super::frame::{Frame, Place};
use super::order::Order;

/// The results of a recomputation.
pub(super) struct Collected {
    pub(super) frame: Arc<Frame>,
    pub(super) functions: Vec<Arc<dyn Function>>,
    /// The indices of the operations by the orders of their nodes in the first run; empty until it is asked for.
    indices: HashMap<u64, usize>,
    /// The number of leaves that this run has made.
    leaves: usize,
    /// The number of hooks that this run has registered.
    registrations: usize,
    /// The first difference from the first run.
    pub(super) problem: Option<String>,
}

impl Collected {
    pub(super) fn new(frame: Arc<Frame>) -> Self {
        Self {
            frame,
            functions: Vec::new(),
            indices: HashMap::new(),
            leaves: 0,
            registrations: 0,
            problem: None,
        }
    }

    /// Adds an operation. Its node, that of the first run or else a new one in its place; and its order.
    pub(super) fn node(
        &mut self,
        function: Arc<dyn Function>,
        inputs: Inputs,
        outputs: usize,
    ) -> (Arc<Node>, Order) {
        let known = self.known(function.name(), &inputs);
        let result = known.unwrap_or_else(|| self.new_node(function.clone(), inputs, outputs));
        self.functions.push(function);
        result
    }

    fn new_node(
        &self,
        function: Arc<dyn Function>,
        inputs: Inputs,
        outputs: usize,
    ) -> (Arc<Node>, Order) {
        let order = self.frame.order_in_place_of(self.functions.len());
        let mut before = inputs.iter().flatten().map(|input| input.node.order);
        let order = order.filter(|order| before.all(|before| before < order.own));
        let order = order.unwrap_or_else(Order::new);
        (Node::op_at(order.own, function, inputs, outputs), order)
    }

    /// The order of the next leaf.
    pub(super) fn leaf_order(&mut self) -> Order {
        self.leaves += 1;
        let order = self.frame.order_in_place_of_leaf(self.leaves - 1);
        order.unwrap_or_else(Order::new)
    }

    /// The node of the next operation, if the first run made it of the same inputs, and something needs it.
    fn known(&mut self, op: &'static str, inputs: &Inputs) -> Option<(Arc<Node>, Order)> {
        let index = self.functions.len();
        let known = {
            let nodes = lock(&self.frame.nodes);
            let known = nodes.get(index);
            known.map(|known| (known.node.clone(), known.order.clone()))
        };
        let Some((known, order)) = known else {
            // A first run that asks for gradients itself has not come to this operation yet.
            if self.frame.has_ended() {
                let more = || format!("`{op}` as operation {index}, behind the last at first");
                self.problem.get_or_insert_with(more);
            }
            return None;
        };
        let node = known.upgrade()?;
        let NodeKind::Op(before) = &node.kind else {
            return None;
        };
        if before.name != op || !are_alike(&before.inputs, inputs) {
            let (now, then) = (describe(inputs), describe(&before.inputs));
            let other = || {
                let name = before.name;
                format!("`{op}` of {now} as operation {index}, and `{name}` of {then} at first")
            };
            self.problem.get_or_insert_with(other);
            return None;
        }
        // Those of a leaf that the call makes itself are others in each run.
        match are_same(&before.inputs, inputs) {
            true => Some((node, order)),
            false => None,
        }
    }

    /// The place of the next hook that this run registers.
    pub(super) fn next_registration(&mut self) -> Place {
        self.registrations += 1;
        (self.frame.number, self.registrations - 1)
    }

    /// The function that this run has made for a node of the first.
    pub(super) fn function_of(&mut self, node: &Node) -> Option<Arc<dyn Function>> {
        let nodes = lock(&self.frame.nodes);
        // The first run may have gone on since the last question.
        let new = nodes.iter().enumerate().skip(self.indices.len());
        self.indices
            .extend(new.map(|(i, known)| (known.order.own, i)));
        let index = *self.indices.get(&node.order)?;
        self.functions.get(index).cloned()
    }
}

/// Whether both get gradients of the same kinds.
fn are_alike(before: &Inputs, now: &Inputs) -> bool {
    let like = |(a, b): (&Option<Input>, &Option<Input>)| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.shape == b.shape && a.dtype == b.dtype,
        _ => false,
    };
    before.len() == now.len() && before.iter().zip(now).all(like)
}

/// Whether the gradients of both go to the same outputs.
fn are_same(before: &Inputs, now: &Inputs) -> bool {
    let edge = |input: &Option<Input>| input.as_ref().map(|x| (x.node.order, x.output()));
    before.iter().map(edge).eq(now.iter().map(edge))
}

fn describe(inputs: &Inputs) -> String {
    let each = inputs.iter().map(|input| match input {
        Some(input) => format!("{} {}", input.dtype, input.shape),
        None => "an untracked tensor".to_owned(),
    });
    each.collect::<Vec<_>>().join(" and ")
}
